import { realpath } from "node:fs/promises";
import { firstOutside, targetInside } from "../base/inside.js";
import { PortalError } from "../base/portalError.js";
import type { Action } from "./action.js";
import { parseCommandLine, quoteWord } from "./commands/commandLine.js";
import { judgeLine, type Part, rememberedStarts } from "./commands/commandRules.js";
import { programProblem } from "./commands/unfitPrograms.js";
import { editProblem } from "./guardedEdits.js";

export type Effect = "allow" | "reject";

/** `allow command git status`, `reject edits`, `allow tool github/search`: what a user decided once for a folder. */
export interface Rule {
  readonly effect: Effect;
  readonly about: "command" | "edits" | "reads" | "tool" | "startup";
  /** For a command: its first words. For a tool: its name. For a file that runs something: path and SHA-256. */
  readonly words: readonly string[];
}

/** The store's index has no room for longer rules. */
export const maxRuleBytes = 1000;

const forms = "allow or reject, then: command WORDS, edits, reads, tool NAME, or startup PATH SHA256";

function invalid(text: string, why: string): PortalError {
  return PortalError.malformed("RuleInvalid", `${JSON.stringify(text.slice(0, 200))}: ${why}`);
}

/** Throws `RuleInvalid`, which names the rule and what is wrong with it. */
export function parseRule(text: string): Rule {
  if (Buffer.byteLength(text) > maxRuleBytes) throw invalid(text, `a rule has at most ${maxRuleBytes} bytes`);
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
      const [command, more] = commands;
      if (!command || more) throw invalid(text, "a rule is about one command");
      const unfit = effect === "allow" ? programProblem(command.words[0] ?? "") : undefined;
      if (unfit !== undefined) throw invalid(text, unfit);
      return { effect, about, words: command.words };
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

/** A path, in single quotes unless it is a plain word. */
const startupForm = /^(?:'([^'\p{Cc}]+)'|([^\s']+))\s+([0-9a-f]{64})$/iu;

export function ruleText({ effect, about, words }: Rule): string {
  const quoted = words.map(word => (about === "tool" ? word : (quoteWord(word) ?? `'${word}'`)));
  return [effect, about, ...quoted].join(" ");
}

/** What the rules of a folder say about an action; when they say nothing or may not decide, the user is asked. */
export interface Verdict {
  decision: Effect | "ask";
  /** The rules that decided, as text. */
  rules: string[];
  why: string;
}

const ask = (why: string): Verdict => ({ decision: "ask", rules: [], why });

/** More than an agent names in one request. */
const maxPaths = 50;
const maxPathNames = 1000;

/** Allows when no rule rejects any part, no problem is found, and some rule allows each part. */
async function judge(parts: readonly Part[], problem: () => Promise<string | undefined>): Promise<Verdict> {
  const all = parts.flatMap(({ matching }) => matching);
  const rejecting = all.filter(({ effect }) => effect === "reject");
  if (rejecting.length > 0)
    return { decision: "reject", rules: texts(rejecting), why: "A rule rejects it; rejecting rules win." };
  const why = await problem();
  if (why !== undefined) return ask(why);
  const open = parts.find(({ matching }) => matching.length === 0);
  if (open) return ask(`No rule is about ${open.label}.`);
  return { decision: "allow", rules: texts(all), why: "Rules allow it." };
}

function texts(rules: readonly Rule[]): string[] {
  return [...new Set(rules.map(ruleText))];
}

async function judgeCommand(
  command: string,
  { directory, paths = [] }: Action,
  folder: string,
  rules: readonly Rule[],
): Promise<Verdict> {
  const { parts, problem } = await judgeLine(command, folder, rules);
  return judge(parts, async () => {
    if (problem !== undefined) return problem;
    const real = await realpath(folder).catch(() => undefined);
    if (directory !== undefined && (await targetInside(folder, directory)) !== real)
      return `It runs in another folder: ${directory}`;
    const outside = await firstOutside(folder, paths);
    return outside === undefined ? undefined : `It reaches outside the folder: ${outside}`;
  });
}

async function judgeFiles(
  about: "edits" | "reads",
  paths: readonly string[],
  folder: string,
  rules: readonly Rule[],
): Promise<Verdict> {
  const matching = rules.filter(rule => rule.about === about);
  return judge([{ label: about, matching }], async () => {
    if (paths.length === 0) return "It names no file.";
    const targets = await Promise.all(paths.map(path => targetInside(folder, path)));
    const outside = targets.indexOf(undefined);
    if (outside >= 0) return `It reaches outside the folder: ${paths[outside]}`;
    if (about === "reads") return undefined;
    const known = targets.filter(target => target !== undefined);
    return editProblem(await realpath(folder).catch(() => folder), known);
  });
}

export async function decide(action: Action, folder: string, rules: readonly Rule[]): Promise<Verdict> {
  const { kind, command, paths = [], tool } = action;
  if (action.unclear !== undefined) return ask(action.unclear);
  if (action.outside) return ask("The agent says that it reaches outside the folder.");
  if (paths.length > maxPaths || paths.join("/").split("/", maxPathNames + 1).length > maxPathNames)
    return ask("It names more files than a rule checks.");
  if (kind === "execute" && command !== undefined) return judgeCommand(command, action, folder, rules);
  if (kind === "edit" || kind === "delete" || kind === "move")
    return judgeFiles("edits", paths, folder, rules);
  if (kind === "read" || kind === "search") return judgeFiles("reads", paths, folder, rules);
  if (kind === "other" && tool !== undefined) {
    const matching = rules.filter(rule => rule.about === "tool" && rule.words[0] === tool);
    return judge([{ label: `the tool ${tool}`, matching }], async () => undefined);
  }
  return ask("Rules cover only commands, edits, reads and tools.");
}

/** The rules that "always" would remember for this action; none when no rule could decide it. */
export async function rulesFor(action: Action, folder: string, effect: Effect): Promise<string[]> {
  const wanted = wantedRules(action, effect);
  if (texts(wanted).some(text => Buffer.byteLength(text) > maxRuleBytes)) return [];
  const { decision } = await decide(action, folder, wanted);
  return decision === effect ? texts(wanted) : [];
}

function wantedRules({ kind, command, tool }: Action, effect: Effect): Rule[] {
  if (kind === "execute")
    return rememberedStarts(command ?? "", effect).map(words => ({ effect, about: "command", words }));
  if (kind === "edit" || kind === "delete" || kind === "move") return [{ effect, about: "edits", words: [] }];
  if (kind === "read" || kind === "search") return [{ effect, about: "reads", words: [] }];
  return kind === "other" && tool !== undefined && /^[!-~]+$/.test(tool)
    ? [{ effect, about: "tool", words: [tool] }]
    : [];
}
