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

/** More places, and more folders on the way to them, than a line that people read names. */
const maxPlaces = 200;
const maxNames = 150;

/** One command of a line, and the rules that are about it. */
export interface Part {
  readonly label: string;
  readonly matching: readonly Rule[];
}

/** What the rules say about each command, and why they must not allow the line all the same. */
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

/** An allowing rule covers its own words, and what is known to be harmless behind them. */
export function isAbout({ effect, words: ruleWords }: Rule, commandWords: readonly string[]): boolean {
  const [words, start] = [canonical(commandWords), canonical(ruleWords)];
  if (effect === "reject") return isRejectedBy(words, start);
  if (!startsWith(words, start)) return false;
  return words.length === start.length || harmlessUse(words) !== undefined;
}

/** Whether an allowing rule covers more than its own words. */
export function isOpenEnded(ruleWords: readonly string[]): boolean {
  const words = canonical(ruleWords);
  // The value of its last option may still be to come.
  return harmlessUse(words) !== undefined || harmlessUse([...words, "1"]) !== undefined;
}

/** Whatever in these words may be a path, also inside options and scripts: `--out=/etc/x`, `-C/etc`, `r /etc/x`. */
function possiblePaths([program = "", ...rest]: readonly string[]): string[] {
  const places = rest
    .filter(word => !/^https?:\/\//i.test(word))
    .flatMap(word => {
      const pieces = word.split(/[\s=:,;'"`(){}[\]|&<>]+/);
      const bare = pieces.map(piece => piece.replace(/^-+[A-Za-z]*/, ""));
      // A colon in a name makes no address of it here: its pieces are looked at too.
      return [isAbsolute(word) ? word : `./${word}`, ...pieces, ...bare];
    });
  const named = places.filter(place => place !== "" && !place.startsWith("-"));
  return program.includes("/") ? [program, ...named] : named;
}

/** `cd` to the folder itself changes nothing, wherever it stands. */
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

/** Checks the commands of a line in their order; `folder` is where the folder really is. */
class LineCheck {
  readonly #folder: string;
  readonly #places = new Set<string>();
  #names = 0;
  #isGitChecked = false;
  /** A command that may do anything stands before. */
  #isStale = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async problemOf({ words, isPiped }: Command): Promise<string | undefined> {
    const [program = ""] = words;
    const unfit = programProblem(program);
    if (unfit !== undefined) return unfit;
    if (!program.includes("/") && (await isFoundInFolder(this.#folder, program)))
      return `The folder has a program of its own that is called ${program}.`;
    const use = harmlessUse(words);
    if (program === "git" && !this.#isGitChecked) {
      const problem = await repositoryProblem(this.#folder);
      if (problem !== undefined) return problem;
      this.#isGitChecked = true;
    }
    if (program === "git" && words[1] === "grep" && (await hasLinkedFolder(this.#folder).catch(() => true)))
      return "A folder of the repository is a link, which git grep would follow.";
    return use ? this.#problemOfUse(program, use) : this.#problemOfExactLine(words, isPiped);
  }

  /** The command itself is known: what it touches decides. */
  async #problemOfUse(program: string, { paths, files, written }: Use): Promise<string | undefined> {
    const places = [...paths, ...files, ...written];
    // What was looked at now may be a link, or have other settings, by then.
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
      ? "It cannot be seen where it writes."
      : editProblem(this.#folder, known);
  }

  /** Nothing is known of the command, so that only its own words can be allowed. */
  async #problemOfExactLine(words: readonly string[], isPiped: boolean): Promise<string | undefined> {
    this.#isStale = true;
    if (isPiped) return `It has ${words[0]}, which gets what another command writes.`;
    return this.#outside(possiblePaths(words));
  }

  async #outside(places: readonly string[]): Promise<string | undefined> {
    const fresh = [...new Set(places)].filter(place => !this.#places.has(place));
    this.#names += fresh.reduce((sum, place) => sum + place.split("/").length, 0);
    if (this.#places.size + fresh.length > maxPlaces || this.#names > maxNames)
      return "It names more places than a rule looks at.";
    const outside = await firstOutside(this.#folder, fresh);
    for (const place of fresh) this.#places.add(place);
    return outside === undefined ? undefined : `It reaches outside the folder: ${outside}`;
  }
}

export async function judgeLine(line: string, folder: string, rules: readonly Rule[]): Promise<JudgedLine> {
  const { commands, problem } = parseCommandLine(line);
  if (!commands) return { parts: [], problem: `Rules decide about plain commands only. ${problem}` };
  const real = await realpath(folder).catch(() => undefined);
  if (real === undefined) return { parts: [], problem: `The folder is not there: ${folder}` };
  const about = rules.filter(rule => rule.about === "command");
  const check = new LineCheck(real);
  const parts: Part[] = [];
  let found: string | undefined;
  for (const command of commands) {
    const words = canonical(command.words);
    const matching = about.filter(rule => isAbout(rule, words));
    const isNothing = matching.length === 0 && (await staysInFolder(words, real));
    if (!isNothing) parts.push({ label: `the command ${nameOf(words)}`, matching });
    // A rejecting rule may stand behind a problem, so that all parts are read.
    if (!isNothing) found ??= await check.problemOf({ ...command, words });
  }
  if (parts.length === 0) return { parts, problem: "It only goes to the folder where it is." };
  return found === undefined ? { parts } : { parts, problem: found };
}

function nameOf(words: readonly string[]): string {
  const name = words.slice(0, 2).join(" ");
  return name.length > 80 ? `${name.slice(0, 80)} …` : name;
}

/** Programs that are many: a rejecting rule about them names the subcommand too. */
const multiCommandTools = new Set(
  `git npm yarn pnpm dotnet cargo go docker gh pip kubectl npx bunx uvx bun deno uv pip3 podman`.split(/\s+/),
);

/** What "always reject" remembers of a command; undefined when that would be too much. */
function rejectedStart([program = "", subcommand]: readonly string[]): readonly string[] | undefined {
  if (!/^[\w.+/-]+$/.test(program)) return undefined;
  if (!multiCommandTools.has(program)) return [program];
  return subcommand !== undefined && /^[\w@.:/][\w@.:/-]*$/.test(subcommand)
    ? [program, subcommand]
    : undefined;
}

/** The beginnings that "always" would remember of a line: of every command, or of none. */
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
