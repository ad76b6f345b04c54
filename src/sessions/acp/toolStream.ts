import type { SessionCallbacks, ToolEndDetails, ToolStartDetails } from "../../copilotSession.js";
import { BlockIds } from "../copilot/blockIds.js";
import { jobToolNames } from "../jobTools.js";
import {
  cut,
  deltaOf,
  diffsOf,
  diffText,
  isShownWhole,
  jsonText,
  maxTextChars,
  toolText,
} from "./contentText.js";
import { type Fields, fieldsOf, given, listOf, numberOf, textOf } from "./fields.js";
import type { Announcements } from "./requestedAction.js";
import { toolKinds } from "./toolKinds.js";

interface Tool {
  /** Its id in the portal; the agent may use its own id again. */
  id: string;
  ended: boolean;
  /** What the agent has said of it besides its requests for permission, oldest first. */
  announced: Fields[];
  isAnnouncedCut: boolean;
  content: unknown;
  rawInput: Fields;
  rawOutput: unknown;
  kind: string | undefined;
  /** The text of its content so far, and how much of it has been told. */
  shown: string;
  told: number;
  /** The sub-agent whose calls are inside this one. */
  subAgent: string | undefined;
}

/** Why tools end that the agent said nothing more about. */
export type Unfinished = "cancelled" | "no_result" | "agent_exited";

const unfinishedMessages: Readonly<Record<Unfinished, string>> = {
  cancelled: "Cancelled",
  no_result: "The agent did not report a result.",
  agent_exited: "The agent exited before the tool had finished.",
};

const maxIdChars = 200;
const maxNameChars = 1000;
/** Pages show each; more than this at once is a flood. */
const maxLocations = 1000;
const maxRunning = 500;
/** Tools that have ended are known by their ids for a while, so that what comes late about them is left out. */
const maxKnown = 2000;
/** Of one agent session: each id is remembered, so that none is used twice. */
const maxStarted = 100_000;
const maxAnnouncements = 20;

/** The portal's own tools have agent-specific prefixes: `portal-jobs-x`, `mcp__portal-jobs__x`. */
function jobToolIn(name: string): string | undefined {
  if (!/portal[-_]jobs/i.test(name)) return undefined;
  return jobToolNames.find(tool => new RegExp(`(?<![a-z])${tool}(?![a-z_])`).test(name));
}

export function toolNameOf({ name, title, kind }: Fields): string {
  const shown = (textOf(name) || textOf(title) || textOf(kind) || "tool").slice(0, maxNameChars);
  return jobToolIn(shown) ?? shown;
}

export function kindOf(kind: unknown): string | undefined {
  const text = textOf(kind);
  return text === undefined ? undefined : toolKinds.includes(text) ? text : "other";
}

export function locationsOf(update: Fields): { path: string; line?: number }[] {
  return listOf(update.locations)
    .slice(0, maxLocations)
    .flatMap(location => {
      const { path, line } = fieldsOf(location);
      const number = numberOf(line);
      return typeof path === "string" ? [{ path, ...(number !== undefined && { line: number }) }] : [];
    });
}

function argumentsOf(update: Fields): string {
  const { rawInput, title, kind } = update;
  if (rawInput !== undefined && rawInput !== null) return jsonText(rawInput);
  const paths = locationsOf(update).map(({ path }) => path);
  return jsonText({ title, kind, ...(paths.length > 0 && { locations: paths }) });
}

/** What a request for permission must not contradict; undefined when the update says nothing of that. */
function announcementOf({ name, kind, locations, content, rawInput }: Fields): Fields | undefined {
  const diffs = listOf(content).filter(item => fieldsOf(item).type === "diff");
  const said = given({ name, kind, locations, rawInput, content: diffs.length > 0 ? diffs : undefined });
  return Object.keys(said).length > 0 ? said : undefined;
}

function agentIdOf(toolCallId: unknown): string | undefined {
  const id = typeof toolCallId === "number" ? String(toolCallId) : textOf(toolCallId);
  return id?.slice(0, maxIdChars);
}

/** A link that an agent gives itself, as far as any is known to. */
function explicitParent({ parentToolCallId, _meta }: Fields): string | undefined {
  const meta = fieldsOf(_meta);
  return (
    textOf(parentToolCallId) ??
    textOf(meta.parentToolCallId) ??
    textOf(fieldsOf(meta.claudeCode).parentToolUseId)
  );
}

function subAgentOf({ _meta }: Fields): string | undefined {
  return Object.values(fieldsOf(_meta))
    .map(vendor => textOf(fieldsOf(vendor).agentId))
    .find(id => id !== undefined);
}

/** Which tool calls run, what each has told, and what comes of it. */
export class ToolStream {
  readonly #callbacks: SessionCallbacks;
  readonly #terminalText: (terminalId: string) => string;
  readonly #ids: BlockIds;
  /** By the agent's id: the latest call of that id. */
  readonly #tools = new Map<string, Tool>();
  #running = 0;
  #started = 0;

  /** `tag` tells the ids of this agent session from those that the conversation had before. */
  constructor(callbacks: SessionCallbacks, terminalText: (terminalId: string) => string, tag: string) {
    this.#callbacks = callbacks;
    this.#terminalText = terminalText;
    this.#ids = new BlockIds(tag);
  }

  /** `tool_call`: a new call, unless one of this id runs. */
  announce(update: Fields, beforeStart: () => void): void {
    const agentId = agentIdOf(update.toolCallId);
    if (agentId === undefined) return;
    const known = this.#tools.get(agentId);
    if (known && !known.ended) this.#progress(known, update);
    else this.#begin(agentId, update, beforeStart);
    this.#note(agentId, update);
  }

  /** `tool_call_update`: of a call that nobody announced it is the announcement. */
  update(update: Fields, beforeStart: () => void): void {
    const agentId = agentIdOf(update.toolCallId);
    if (agentId === undefined) return;
    const known = this.#tools.get(agentId);
    if (known?.ended) return;
    if (known) this.#progress(known, update);
    else this.#begin(agentId, update, beforeStart);
    this.#note(agentId, update);
  }

  /** A request for permission: of a call that nobody announced it is the announcement, too. */
  request(toolCall: Fields, beforeStart: () => void): string | undefined {
    const agentId = agentIdOf(toolCall.toolCallId);
    if (agentId === undefined) return undefined;
    const known = this.#tools.get(agentId);
    const { status: _, ...announcement } = toolCall;
    if (!known) this.#begin(agentId, announcement, beforeStart);
    else if (!known.ended) this.#progress(known, announcement);
    return this.#tools.get(agentId)?.id;
  }

  /** What the agent has said of a call that runs. */
  announcements(toolCallId: unknown): Announcements {
    const tool = this.#tools.get(agentIdOf(toolCallId) ?? "");
    if (tool) return { calls: tool.announced, isCut: tool.isAnnouncedCut };
    return { calls: [], isCut: this.#running >= maxRunning };
  }

  /** A terminal that tools show has written more. */
  terminalChanged(terminalId: string): void {
    for (const tool of this.#tools.values()) {
      const shows = listOf(tool.content).some(item => fieldsOf(item).terminalId === terminalId);
      if (shows && !tool.ended) this.#tell(tool);
    }
  }

  /** Ends what the agent has left open. */
  endAll(why: Unfinished): void {
    for (const tool of this.#tools.values()) {
      if (tool.ended) continue;
      const error = { message: unfinishedMessages[why], code: why };
      const result = tool.shown === "" ? undefined : { content: tool.shown };
      this.#finish(tool, result, error, true);
    }
  }

  #begin(agentId: string, update: Fields, beforeStart: () => void): void {
    if (this.#running >= maxRunning || this.#started >= maxStarted) return;
    this.#started++;
    beforeStart();
    this.#progress(this.#start(agentId, update), update);
  }

  #note(agentId: string, update: Fields): void {
    const tool = this.#tools.get(agentId);
    const said = announcementOf(update);
    if (!tool || tool.ended || !said) return;
    if (tool.announced.length < maxAnnouncements) tool.announced.push(said);
    else tool.isAnnouncedCut = true;
  }

  /** The oldest that has ended makes room; there are always fewer running than known. */
  #makeRoom(): void {
    if (this.#tools.size < maxKnown) return;
    for (const [agentId, { ended }] of this.#tools) {
      if (!ended) continue;
      this.#tools.delete(agentId);
      return;
    }
  }

  #start(agentId: string, update: Fields): Tool {
    this.#makeRoom();
    this.#running++;
    const tool: Tool = {
      id: this.#ids.next(agentId),
      announced: [],
      isAnnouncedCut: false,
      ended: false,
      content: undefined,
      rawInput: fieldsOf(update.rawInput),
      rawOutput: undefined,
      kind: textOf(update.kind),
      shown: "",
      told: 0,
      subAgent: undefined,
    };
    const locations = locationsOf(update);
    const details: ToolStartDetails = given({
      kind: kindOf(update.kind),
      locations: locations.length > 0 ? locations : undefined,
    });
    this.#callbacks.onStartToolExecution(
      tool.id,
      this.#parentOf(update),
      toolNameOf(update),
      argumentsOf(update),
      details,
    );
    this.#tools.set(agentId, tool);
    return tool;
  }

  #parentOf(update: Fields): string | undefined {
    const parent = explicitParent(update);
    if (parent !== undefined) return this.#tools.get(parent)?.id;
    const subAgent = subAgentOf(update);
    if (subAgent === undefined) return undefined;
    const running = [...this.#tools.values()].filter(tool => !tool.ended);
    const paired = [...this.#tools.values()].find(tool => tool.subAgent === subAgent);
    const found =
      paired ??
      running.find(
        tool => tool.subAgent === undefined && ("agent_type" in tool.rawInput || tool.kind === "subagent"),
      );
    if (found) found.subAgent = subAgent;
    return found?.id;
  }

  #progress(tool: Tool, update: Fields): void {
    if (update.rawInput !== undefined) tool.rawInput = fieldsOf(update.rawInput);
    if (update.rawOutput !== undefined) tool.rawOutput = update.rawOutput;
    if (Array.isArray(update.content)) {
      tool.content = update.content;
      this.#tell(tool);
    }
    if (update.status === "completed") this.#complete(tool);
    else if (update.status === "failed") this.#fail(tool);
  }

  #tell(tool: Tool): void {
    const text = toolText(tool.content, this.#terminalText);
    const delta = deltaOf(tool.shown, text);
    tool.shown = text;
    if (delta === "" || tool.told > maxTextChars) return;
    tool.told += delta.length;
    this.#callbacks.onToolExecution(tool.id, tool.told > maxTextChars ? cut(delta) : delta);
  }

  #complete(tool: Tool): void {
    const output = fieldsOf(tool.rawOutput);
    // A terminal may have written more since.
    const rendered = toolText(tool.content, this.#terminalText);
    const content = cut(rendered || textOf(output.content) || rawText(tool.rawOutput));
    const detailed = cut(textOf(output.detailedContent) ?? diffText(diffsOf(tool.content)));
    const detailedContent = detailed !== "" && detailed !== content ? detailed : undefined;
    this.#finish(tool, { content, ...given({ detailedContent }) }, undefined);
  }

  #fail(tool: Tool): void {
    const output = fieldsOf(tool.rawOutput);
    const rendered = toolText(tool.content, this.#terminalText);
    const message = cut(textOf(output.message) || rendered || textOf(tool.rawOutput) || "The tool failed.");
    this.#finish(tool, undefined, { message, ...given({ code: textOf(output.code) }) });
  }

  #finish(
    tool: Tool,
    result: { content: string; detailedContent?: string } | undefined,
    error: { message: string; code?: string } | undefined,
    interrupted?: true,
  ): void {
    const diffs = diffsOf(tool.content);
    const details: ToolEndDetails = given({
      diffs: diffs.length > 0 && isShownWhole(diffs) ? diffs : undefined,
      exitCode: exitCodeOf(tool.rawOutput),
    });
    tool.ended = true;
    this.#running--;
    this.#callbacks.onEndToolExecution(tool.id, result, error, interrupted, details);
    // Only its id is needed any more, and those of sub-agents that may still call.
    tool.content = tool.rawOutput = undefined;
    tool.rawInput = {};
    tool.announced = [];
    tool.shown = "";
  }
}

function rawText(rawOutput: unknown): string {
  if (rawOutput === undefined || rawOutput === null) return "";
  return textOf(rawOutput) ?? jsonText(rawOutput);
}

function exitCodeOf(rawOutput: unknown): number | undefined {
  const output = fieldsOf(rawOutput);
  const shells = listOf(output.contents).map(item => numberOf(fieldsOf(item).exitCode));
  return shells.find(code => code !== undefined) ?? numberOf(output.exitCode) ?? numberOf(output.exit_code);
}
