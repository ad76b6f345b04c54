import { resolve } from "node:path";
import { firstOutside } from "../base/inside.js";
import { PortalError } from "../portalError.js";
import type { Action } from "./action.js";
import { parseCommandLine, prefixOf } from "./commandLine.js";

export type Effect = "allow" | "reject";

/** `allow command git status`, `reject edits`, `allow tool github/search`: what a user decided once for a folder. */
export interface Rule {
  readonly effect: Effect;
  readonly about: "command" | "edits" | "reads" | "tool" | "startup";
  /** Of a command: the words it begins with. Of a tool: its name. Of a file that runs something: path and SHA-256. */
  readonly words: readonly string[];
}

const forms = "allow or reject, then: command WORDS, edits, reads, tool NAME, or startup PATH SHA256";

function invalid(text: string, why: string): PortalError {
  return PortalError.malformed("RuleInvalid", `${JSON.stringify(text.slice(0, 200))}: ${why}`);
}

/** Throws `RuleInvalid`, which names the rule and what is wrong with it. */
export function parseRule(text: string): Rule {
  const [, effect = "", about = "", rest = ""] = /^(\S+)\s+(\S+)(?:\s+(\S.*))?$/.exec(text.trim()) ?? [];
  if (effect !== "allow" && effect !== "reject") throw invalid(text, `a rule is ${forms}`);
  switch (about) {
    case "edits":
    case "reads":
      if (rest !== "") throw invalid(text, `nothing follows ${about}: it means all files inside the folder`);
      return { effect, about, words: [] };
    case "tool":
      if (!/^[!-~]+$/.test(rest)) throw invalid(text, "the name of a tool is one word");
      return { effect, about, words: [rest] };
    case "command": {
      const { commands, problem } = parseCommandLine(rest);
      if (!commands) throw invalid(text, problem);
      const [words, more] = commands;
      if (!words || more) throw invalid(text, "a rule is about one command");
      if (words.some(word => /['"]/.test(word))) throw invalid(text, "its words have no quotes inside");
      return { effect, about, words };
    }
    case "startup": {
      const [, quoted, path = quoted, sha256] = startupForm.exec(rest) ?? [];
      if (!path || !sha256)
        throw invalid(text, "startup is followed by a file and the SHA-256 of its content");
      return { effect, about, words: [path, sha256.toLowerCase()] };
    }
    default:
      throw invalid(text, `a rule is ${forms}`);
  }
}

/** A path, in single quotes where it is no plain word. */
const startupForm = /^(?:'([^'\p{Cc}]+)'|([^\s']+))\s+([0-9a-f]{64})$/iu;

const plain = /^[^\s'"#;&|<>(){}$`\\]+$/;

export function ruleText({ effect, about, words }: Rule): string {
  const quoted = words.map(word => (about === "tool" || plain.test(word) ? word : `'${word}'`));
  return [effect, about, ...quoted].join(" ");
}

/** What the rules of a folder say about an action; when they say nothing, or must not, the user is asked. */
export interface Verdict {
  decision: Effect | "ask";
  /** The rules that decided, as text. */
  rules: string[];
  why: string;
}

const ask = (why: string): Verdict => ({ decision: "ask", rules: [], why });

/** More words than anyone writes. */
const maxWords = 500;

/** The words of a command that may be paths, and those that are hidden in options: `--out=/etc/x`, `-C/etc`. */
function pathsIn(command: readonly string[]): string[] {
  return command.flatMap(word => {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) return [];
    const pieces = word.split(/[=:,]/).flatMap(piece => [piece, piece.replace(/^-+[A-Za-z]*/, "")]);
    return [word, ...pieces].filter(piece => piece !== "" && !piece.startsWith("-"));
  });
}

/** Every path that a line may mean. After `cd` a path counts from both folders: in a pipe `cd` changes nothing. */
function pathsFrom(folder: string, commands: readonly (readonly string[])[]): string[] {
  const bases = [folder];
  return commands.flatMap(command => {
    const paths = pathsIn(command);
    const found = bases.flatMap(base =>
      paths.map(path => (path.startsWith("~") ? path : resolve(base, path))),
    );
    if (command[0] !== "cd") return found;
    const [, target, more] = command;
    // `cd`, `cd -` and their like lead anywhere.
    if (target === undefined || more !== undefined || target.startsWith("-")) return ["~"];
    bases.push(...bases.map(base => resolve(base, target)));
    return found;
  });
}

function startsWith(words: readonly string[], start: readonly string[]): boolean {
  return start.length <= words.length && start.every((word, index) => word === words[index]);
}

/** Every part has to be allowed by some rule, and none may be rejected. */
function judge(parts: readonly { label: string; matching: readonly Rule[] }[]): Verdict {
  const all = parts.flatMap(({ matching }) => matching);
  const rejecting = all.filter(({ effect }) => effect === "reject");
  if (rejecting.length > 0)
    return { decision: "reject", rules: texts(rejecting), why: "A rule rejects it; rejecting rules win." };
  const open = parts.find(({ matching }) => matching.length === 0);
  if (open) return ask(`No rule is about ${open.label}.`);
  return { decision: "allow", rules: texts(all), why: "Rules allow it." };
}

function texts(rules: readonly Rule[]): string[] {
  return [...new Set(rules.map(ruleText))];
}

async function judgeCommand(command: string, folder: string, rules: readonly Rule[]): Promise<Verdict> {
  const { commands, problem } = parseCommandLine(command);
  if (!commands) return ask(`Rules decide about plain commands only. ${problem}`);
  if (commands.flat().length > maxWords) return ask("It is too long for a rule.");
  const outside = await firstOutside(folder, pathsFrom(folder, commands));
  if (outside !== undefined) return ask(`It reaches outside the folder: ${outside}`);
  const about = rules.filter(rule => rule.about === "command");
  return judge(
    commands.map(words => ({
      label: `the command ${words.slice(0, 2).join(" ")}`,
      matching: about.filter(rule => startsWith(words, rule.words)),
    })),
  );
}

/** Git runs what stands in its own folder: an edit there is more than an edit. */
const insideGit = (path: string) => /(^|[\\/])\.git([\\/]|$)/i.test(path);

async function judgeFiles(
  about: "edits" | "reads",
  paths: readonly string[],
  folder: string,
  rules: readonly Rule[],
): Promise<Verdict> {
  if (paths.length === 0) return ask("It names no file.");
  const outside = await firstOutside(folder, paths);
  if (outside !== undefined) return ask(`It reaches outside the folder: ${outside}`);
  if (about === "edits" && paths.some(insideGit)) return ask("It edits the repository's own .git folder.");
  return judge([{ label: about, matching: rules.filter(rule => rule.about === about) }]);
}

export async function decide(action: Action, folder: string, rules: readonly Rule[]): Promise<Verdict> {
  const { kind, command, paths = [], tool } = action;
  if (action.outside) return ask("It reaches outside the folder, as the agent says.");
  const outside = kind === "execute" ? await firstOutside(folder, paths) : undefined;
  if (outside !== undefined) return ask(`It reaches outside the folder: ${outside}`);
  if (kind === "execute" && command !== undefined) return judgeCommand(command, folder, rules);
  if (kind === "edit" || kind === "delete" || kind === "move")
    return judgeFiles("edits", paths, folder, rules);
  if (kind === "read" || kind === "search") return judgeFiles("reads", paths, folder, rules);
  if (kind === "other" && tool !== undefined) {
    const matching = rules.filter(rule => rule.about === "tool" && rule.words[0] === tool);
    return judge([{ label: `the tool ${tool}`, matching }]);
  }
  return ask("Rules are about commands, edits, reads and tools.");
}

/** The rules that "always" would remember for this action; none when no rule could ever decide about it. */
export async function rulesFor(action: Action, folder: string, effect: Effect): Promise<string[]> {
  const wanted = wantedRules(action, effect);
  const verdict = await decide(action, folder, wanted);
  return verdict.decision === effect ? texts(wanted) : [];
}

function wantedRules({ kind, command, tool }: Action, effect: Effect): Rule[] {
  if (kind === "execute") {
    const prefixes = parseCommandLine(command ?? "").commands?.map(prefixOf) ?? [];
    if (prefixes.some(prefix => prefix === undefined)) return [];
    return prefixes.map(words => ({ effect, about: "command", words: words ?? [] }));
  }
  if (kind === "edit" || kind === "delete" || kind === "move") return [{ effect, about: "edits", words: [] }];
  if (kind === "read" || kind === "search") return [{ effect, about: "reads", words: [] }];
  return kind === "other" && tool !== undefined && !/\s/.test(tool)
    ? [{ effect, about: "tool", words: [tool] }]
    : [];
}
