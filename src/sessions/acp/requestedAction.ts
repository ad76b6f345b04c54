import { resolve } from "node:path";
import type { Action } from "../../permissions/action.js";
import { type CallReading, type JudgedKind, readCall } from "./callFields.js";
import { diffsOf, diffText, isShownWhole } from "./contentText.js";
import { type Fields, fieldsOf, given, textOf } from "./fields.js";

const actionKinds = ["execute", "edit", "delete", "move", "read", "search", "fetch", "other"] as const;
const maxTitleChars = 500;
const maxShownChars = 100_000;

/** What else the agent has said about the call. */
export interface Announcements {
  readonly calls: readonly Fields[];
  /** The agent said more than is kept. */
  readonly isCut: boolean;
}

interface Question {
  /** The request's own fields. */
  readonly params: Fields;
  readonly toolCall: Fields;
  readonly kind: Action["kind"];
  readonly title: string;
  readonly announced: Announcements;
  readonly folder: string;
}

const paramNames = ["sessionId", "toolCall", "options", "title", "description", "_meta"];

/** What an agent asks for. A rule may decide only if all of it is understood; otherwise `unclear` says why not. */
export function requestedAction(
  params: Fields,
  toolCall: Fields,
  announced: Announcements,
  folder: string,
): Action {
  const title = (textOf(toolCall.title) ?? textOf(toolCall.name) ?? "Permission").slice(0, maxTitleChars);
  const kind = actionKinds.find(known => known === toolCall.kind) ?? "other";
  const question = { params, toolCall, kind, title, announced, folder };
  const action = kind === "fetch" || kind === "other" ? toolAction(question) : judgedAction(question, kind);
  const input = fieldsOf(toolCall.rawInput);
  return {
    ...action,
    ...given({ intention: textOf(params.description) ?? textOf(input.description) }),
  };
}

/** Commands and files, which rules cover besides tools. */
function judgedAction(question: Question, kind: JudgedKind): Action {
  const { toolCall, title, announced, folder } = question;
  const asked = readCall(toolCall, kind);
  const others = announced.calls.map(call => readCall(call, kind));
  const readings = [asked, ...others];
  const paths = [...new Set(readings.flatMap(reading => reading.paths))];
  const commands = [...new Set(asked.commands)];
  const diffs = diffsOf(toolCall.content);
  const unclear = paramProblem(question) ?? callProblem(question, kind, readings);
  const elsewhere = readings.flatMap(({ folders }) => folders).find(named => !isSame(folder, named));
  const problem =
    unclear ??
    (elsewhere === undefined ? undefined : `It runs in another folder than the session's: ${elsewhere}`) ??
    (isShownWhole(diffs) ? undefined : "Its difference is too long to be shown.");
  return {
    kind,
    title,
    ...given({
      command: kind === "execute" && commands.length > 0 ? commands.join("\n") : undefined,
      paths: paths.length > 0 ? paths : undefined,
      diff: diffs.length > 0 ? diffText(diffs) : diffInput(toolCall),
      unclear: problem,
      arguments: problem === undefined ? undefined : shown(question),
      // Copilot calls it a read even when it is a write.
      outside: kind !== "execute" && saysOutside(title) ? (true as const) : undefined,
    }),
  };
}

/** `a/..` is the folder itself only if `a` is not a link, so it counts as another folder here. */
const isSame = (folder: string, named: string) =>
  !named.includes("..") && resolve(folder, named) === resolve(folder);

const saysOutside = (title: string) => /\boutside\b/i.test(title);

function callProblem({ toolCall, announced }: Question, kind: JudgedKind, readings: CallReading[]) {
  const [asked] = readings;
  if (announced.isCut) return "The agent has said too much about this call.";
  const otherKind = announced.calls.find(({ kind: said }) => (said ?? toolCall.kind) !== toolCall.kind);
  if (otherKind) return "The agent announced it as something else.";
  const problem = readings.map(reading => reading.problem).find(text => text !== undefined);
  if (problem !== undefined || kind !== "execute") return problem;
  if (!asked || asked.commands.length === 0) return "It does not say which command it runs.";
  const isOther = readings.flatMap(({ commands }) => commands).some(line => !asked.commands.includes(line));
  return isOther ? "The agent announced another command." : undefined;
}

/** Tools are identified by the name from the agent's program, since the model may write the title. */
function toolAction(question: Question): Action {
  const { toolCall, kind, title, announced } = question;
  const said = [toolCall, ...announced.calls];
  const toolNames = new Set(said.map(({ name }) => textOf(name)).filter(name => name !== undefined));
  const [tool] = toolNames;
  const input = fieldsOf(toolCall.rawInput);
  return {
    kind,
    title,
    ...given({
      url: kind === "fetch" ? (textOf(input.url) ?? title) : undefined,
      tool: kind === "other" ? tool : undefined,
      arguments: kind === "other" || toolCall.rawInput !== undefined ? shown(question) : undefined,
      diff: diffText(diffsOf(toolCall.content)) || undefined,
      unclear: paramProblem(question) ?? toolProblem(question, toolNames.size),
      outside: saysOutside(title) ? (true as const) : undefined,
    }),
  };
}

function toolProblem({ kind, announced, toolCall }: Question, toolNames: number): string | undefined {
  const said = [toolCall, ...announced.calls];
  if (kind === "fetch") return "No rule is about addresses.";
  if (announced.isCut) return "The agent has said too much about this call.";
  if (toolNames === 0) return "The agent does not name the tool; its title may be anything.";
  if (toolNames > 1) return "The agent announced another tool.";
  if (said.some(call => (call.kind ?? "other") !== "other"))
    return "The agent calls it a tool and something else.";
  if (said.some(call => diffsOf(call.content).length > 0)) return "It changes files, and does not say so.";
  if (said.some(({ rawInput }) => mayDoMore(rawInput)))
    return "What it is given may be a command, or a file outside the folder.";
  if (said.some(call => (call.locations ?? null) !== null && !isEmpty(call.locations)))
    return "It touches files.";
  return undefined;
}

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
const commandNames = /^(command|commands|cmd|script|shell|env|environment|args|argv|cwd|workdir|stdin)$/i;
const otherPlace = /^[/~\\]|^[a-z]:[\\/]|(^|[\\/])\.\.([\\/]|$)|^file:/i;

/** Whether a tool's arguments name commands or places at any depth. */
function mayDoMore(value: unknown): boolean {
  if (typeof value === "string") return otherPlace.test(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(mayDoMore);
  return Object.entries(value).some(([name, inner]) => commandNames.test(name) || mayDoMore(inner));
}

function paramProblem({ params }: Question): string | undefined {
  const unknown = Object.keys(params).find(name => !paramNames.includes(name));
  return unknown === undefined
    ? undefined
    : `The request says ${JSON.stringify(unknown.slice(0, 100))}, which the portal does not understand.`;
}

/** Everything that the agent said about the call, for the user. */
function shown({ toolCall, announced }: Question): unknown {
  const { toolCallId: _, title: __, status: ___, content: ____, ...call } = toolCall;
  const inputs = announced.calls.map(({ rawInput }) => rawInput).filter(input => input !== undefined);
  const own = JSON.stringify(toolCall.rawInput);
  const others = inputs.filter(input => JSON.stringify(input) !== own);
  const isPlain = Object.keys(call).every(name => ["name", "kind", "rawInput", "_meta"].includes(name));
  const all =
    isPlain && others.length === 0
      ? toolCall.rawInput
      : { ...call, ...(others[0] !== undefined && { announced: others }) };
  const text = JSON.stringify(all) ?? "";
  return text.length <= maxShownChars
    ? all
    : `${text.slice(0, maxShownChars)} … and ${text.length - maxShownChars} more characters`;
}

function diffInput({ rawInput }: Fields): string | undefined {
  return textOf(fieldsOf(rawInput).diff);
}
