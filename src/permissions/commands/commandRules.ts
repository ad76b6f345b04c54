import { lstat, realpath } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { firstOutside, targetInside } from "../../base/inside.js";
import { editProblem } from "../guardedEdits.js";
import type { Effect, Rule } from "../rules.js";
import { type Command, parseCommandLine } from "./commandLine.js";
import { hasLinkedFolder, repositoryProblem } from "./gitRepository.js";
import { isFoundInFolder } from "./programPlace.js";
import { harmlessUse, knownName } from "./programs/knownPrograms.js";
import type { Use } from "./programs/program.js";
import { programProblem } from "./unfitPrograms.js";

/** More places, and more folders on the way to them, than a readable line names. */
const maxPlaces = 200;
const maxNames = 150;

/** One command of a line, and the rules that match it. */
export interface Part {
  readonly label: string;
  readonly matching: readonly Rule[];
}

/** What the rules say about each command, and why they must still not allow the line. */
export interface JudgedLine {
  readonly parts: readonly Part[];
  readonly problem?: string;
}

/** `git --no-pager status` is `git status`, and does less. */
function canonical(words: readonly string[]): readonly string[] {
  const [program, option, ...rest] = words;
  return program === "git" && option === "--no-pager" ? canonical([program, ...rest]) : words;
}

function startsWith(words: readonly string[], start: readonly string[]): boolean {
  return start.length <= words.length && start.every((word, index) => word === words[index]);
}

/** A rejected program stays rejected under its full path. */
function isRejectedBy(words: readonly string[], start: readonly string[]): boolean {
  const [program = "", ...rest] = words;
  return startsWith(words, start) || startsWith([program.split("/").at(-1) ?? "", ...rest], start);
}

/** An allowing rule covers its own words, and known harmless arguments after them. */
export function isAbout({ effect, words: ruleWords }: Rule, commandWords: readonly string[]): boolean {
  const [words, start] = [canonical(commandWords), canonical(ruleWords)];
  if (effect === "reject") return isRejectedBy(words, start);
  if (!startsWith(words, start)) return false;
  return words.length === start.length || harmlessUse(words) !== undefined;
}

/** Whether an allowing rule covers more than its own words. */
export function isOpenEnded(ruleWords: readonly string[]): boolean {
  const words = canonical(ruleWords);
  // Its last option may still need a value.
  return harmlessUse(words) !== undefined || harmlessUse([...words, "1"]) !== undefined;
}

/** Everything in these words that may be a path, even in options and scripts: `--out=/etc/x`, `-C/etc`, `r /etc/x`. */
function possiblePaths([program = "", ...rest]: readonly string[]): string[] {
  const places = rest
    .filter(word => !/^https?:\/\//i.test(word))
    .flatMap(word => {
      const pieces = word.split(/[\s=:,;'"`(){}[\]|&<>]+/);
      const bare = pieces.map(piece => piece.replace(/^-+[A-Za-z]*/, ""));
      // A colon does not make a word an address here: its pieces are checked too.
      return [isAbsolute(word) ? word : `./${word}`, ...pieces, ...bare];
    });
  const named = places.filter(place => place !== "" && !place.startsWith("-"));
  return program.includes("/") ? [program, ...named] : named;
}

/** `cd` to the folder itself changes nothing, wherever it appears. */
async function staysInFolder([program, place, ...more]: readonly string[], folder: string): Promise<boolean> {
  if (program !== "cd" || place === undefined || !isAbsolute(place) || more.length > 0) return false;
  return (await targetInside(folder, place)) === folder;
}

async function isFolder(path: string): Promise<boolean> {
  return lstat(path).then(
    stats => stats.isDirectory(),
    () => false,
  );
}

/** Checks the commands of a line in order; `folder` is the folder's real path. */
class LineCheck {
  readonly #folder: string;
  readonly #places = new Set<string>();
  #names = 0;
  #isGitChecked = false;
  /** An earlier command of the line may do anything. */
  #isStale = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async problemOf({ words, isPiped }: Command): Promise<string | undefined> {
    const [program = ""] = words;
    const unfit = programProblem(program);
    if (unfit !== undefined) return unfit;
    if (!program.includes("/") && (await isFoundInFolder(this.#folder, program)))
      return `The folder has its own program called ${program}.`;
    const use = harmlessUse(words);
    if (program === "git" && !this.#isGitChecked) {
      const problem = await repositoryProblem(this.#folder);
      if (problem !== undefined) return problem;
      this.#isGitChecked = true;
    }
    if (program === "git" && words[1] === "grep" && (await hasLinkedFolder(this.#folder).catch(() => true)))
      return "A folder of the repository is a link that git grep would follow.";
    return use ? this.#problemOfUse(program, use) : this.#problemOfExactLine(words, isPiped);
  }

  /** The command itself is known, so what it touches decides. */
  async #problemOfUse(program: string, { paths, files, written }: Use): Promise<string | undefined> {
    const places = [...paths, ...files, ...written];
    // By the time this command runs, what was checked may be a link or have other settings.
    if (this.#isStale && (program === "git" || places.length > 0))
      return `It uses ${program} on files after a command that may change them.`;
    const outside = await this.#outside(places);
    if (outside !== undefined) return outside;
    for (const file of files) {
      const target = await targetInside(this.#folder, file);
      if (target === undefined || (await isFolder(target))) return `It compares whole folders: ${file}`;
    }
    const targets = await Promise.all(written.map(place => targetInside(this.#folder, place)));
    const known = targets.filter(target => target !== undefined);
    return known.length < written.length
      ? "The portal cannot tell where it writes."
      : editProblem(this.#folder, known);
  }

  /** Nothing is known about the command, so only its exact words can be allowed. */
  async #problemOfExactLine(words: readonly string[], isPiped: boolean): Promise<string | undefined> {
    this.#isStale = true;
    if (isPiped) return `It has ${words[0]}, which reads the output of another command.`;
    return this.#outside(possiblePaths(words));
  }

  async #outside(places: readonly string[]): Promise<string | undefined> {
    const fresh = [...new Set(places)].filter(place => !this.#places.has(place));
    this.#names += fresh.reduce((sum, place) => sum + place.split("/").length, 0);
    if (this.#places.size + fresh.length > maxPlaces || this.#names > maxNames)
      return "It names more places than a rule checks.";
    const outside = await firstOutside(this.#folder, fresh);
    for (const place of fresh) this.#places.add(place);
    return outside === undefined ? undefined : `It reaches outside the folder: ${outside}`;
  }
}

export async function judgeLine(line: string, folder: string, rules: readonly Rule[]): Promise<JudgedLine> {
  const { commands, problem } = parseCommandLine(line);
  if (!commands) return { parts: [], problem: `Rules decide about plain commands only. ${problem}` };
  const real = await realpath(folder).catch(() => undefined);
  if (real === undefined) return { parts: [], problem: `The folder does not exist: ${folder}` };
  const about = rules.filter(rule => rule.about === "command");
  const check = new LineCheck(real);
  const parts: Part[] = [];
  let found: string | undefined;
  for (const command of commands) {
    const words = canonical(command.words);
    const matching = about.filter(rule => isAbout(rule, words));
    const isNothing = matching.length === 0 && (await staysInFolder(words, real));
    if (!isNothing) parts.push({ label: `the command ${nameOf(words)}`, matching });
    // A rejecting rule may match after a problem, so every part is read.
    if (!isNothing) found ??= await check.problemOf({ ...command, words });
  }
  if (parts.length === 0) return { parts, problem: "It only changes to the folder it is already in." };
  return found === undefined ? { parts } : { parts, problem: found };
}

function nameOf(words: readonly string[]): string {
  const name = words.slice(0, 2).join(" ");
  return name.length > 80 ? `${name.slice(0, 80)} …` : name;
}

/** Programs with many subcommands: a rejecting rule names the subcommand too. */
const multiCommandTools = new Set(
  `git npm yarn pnpm dotnet cargo go docker gh pip kubectl npx bunx uvx bun deno uv pip3 podman`.split(/\s+/),
);

/** What "always reject" remembers of a command; undefined when that would reject too much. */
function rejectedStart([program = "", subcommand]: readonly string[]): readonly string[] | undefined {
  if (!/^[\w.+/-]+$/.test(program)) return undefined;
  if (!multiCommandTools.has(program)) return [program];
  return subcommand !== undefined && /^[\w@.:/][\w@.:/-]*$/.test(subcommand)
    ? [program, subcommand]
    : undefined;
}

/** The command starts that "always" would remember: for every command of the line, or for none. */
export function rememberedStarts(line: string, effect: Effect): readonly (readonly string[])[] {
  const { commands = [] } = parseCommandLine(line);
  const starts = commands
    .map(({ words }) => canonical(words))
    .filter(([program]) => program !== "cd")
    .map(words => {
      if (effect === "reject") return rejectedStart(words);
      return harmlessUse(words) ? knownName(words) : words;
    });
  return starts.every(start => start !== undefined) ? starts : [];
}
