import type { ToolEndDetails, ToolStartDetails } from "../../copilotSession.js";
import type { BlockWriter, ToolBlock, ToolEnd } from "../blockWriter.js";
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

/** What the agent has said about a running call. */
export interface AcpTool {
  /** Without its permission requests, oldest first. */
  announced: Fields[];
  content: unknown;
  rawInput: Fields;
  rawOutput: unknown;
  kind: string | undefined;
  /** How many characters of its content have been sent. */
  told: number;
}

type OpenTool = ToolBlock<AcpTool>;

/** A running or recently ended call. */
interface KnownTool {
  /** The call's id in the portal; the agent may reuse its own id. */
  readonly id: string;
  /** Whether the agent has said more about it than is kept. */
  isAnnouncedCut: boolean;
  /** The sub-agent whose calls are inside this one. */
  subAgent?: string;
}

/** Why the portal ends tools that the agent left open. */
export type Unfinished = "cancelled" | "no_result" | "agent_exited";

const unfinishedMessages: Readonly<Record<Unfinished, string>> = {
  cancelled: "Cancelled",
  no_result: "The agent did not report a result.",
  agent_exited: "The agent exited before the tool had finished.",
};

const maxIdChars = 200;
const maxNameChars = 1000;
/** Pages show each one; more than this at once is a flood. */
const maxLocations = 1000;
const maxRunning = 500;
/** The ids of ended tools are kept for a while, so that late updates about them are ignored. */
const maxKnown = 2000;
/** Per agent session, since each id is remembered so that none is used twice. */
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

/** What a permission request must not contradict; undefined when the update says nothing about it. */
function announcementOf({ name, kind, locations, content, rawInput }: Fields): Fields | undefined {
  const diffs = listOf(content).filter(item => fieldsOf(item).type === "diff");
  const said = given({ name, kind, locations, rawInput, content: diffs.length > 0 ? diffs : undefined });
  return Object.keys(said).length > 0 ? said : undefined;
}

function agentIdOf(toolCallId: unknown): string | undefined {
  const id = typeof toolCallId === "number" ? String(toolCallId) : textOf(toolCallId);
  return id?.slice(0, maxIdChars);
}

/** The parent call, in the forms that known agents use. */
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

/** Turns an agent's tool calls into blocks. */
export class ToolStream {
  readonly #blocks: BlockWriter<AcpTool>;
  readonly #terminalText: (terminalId: string) => string;
  /** By the agent's id: the latest call of that id. */
  readonly #known = new Map<string, KnownTool>();
  #started = 0;

  constructor(blocks: BlockWriter<AcpTool>, terminalText: (terminalId: string) => string) {
    this.#blocks = blocks;
    this.#terminalText = terminalText;
  }

  /** `tool_call`: a new call, unless one with this id is running. */
  announce(update: Fields): void {
    const agentId = agentIdOf(update.toolCallId);
    if (agentId === undefined) return;
    if (this.#blocks.tools.has(agentId)) this.#progress(agentId, update);
    else this.#begin(agentId, update);
    this.#note(agentId, update);
  }

  /** `tool_call_update`: also announces a call that was not announced before. */
  update(update: Fields): void {
    const agentId = agentIdOf(update.toolCallId);
    if (agentId === undefined || this.#hasEnded(agentId)) return;
    this.announce(update);
  }

  /** A permission request: also announces a call that was not announced before. */
  request(toolCall: Fields): string | undefined {
    const agentId = agentIdOf(toolCall.toolCallId);
    if (agentId === undefined) return undefined;
    const { status: _, ...announcement } = toolCall;
    if (!this.#known.has(agentId)) this.#begin(agentId, announcement);
    else this.#progress(agentId, announcement);
    return this.#known.get(agentId)?.id;
  }

  /** What the agent has said about a running call. */
  announcements(toolCallId: unknown): Announcements {
    const agentId = agentIdOf(toolCallId) ?? "";
    const calls = this.#blocks.tools.get(agentId)?.own.announced ?? [];
    const isCut = this.#known.get(agentId)?.isAnnouncedCut ?? this.#blocks.tools.size >= maxRunning;
    return { calls, isCut };
  }

  /** A terminal shown by tools has written more. */
  terminalChanged(terminalId: string): void {
    for (const [agentId, { own }] of this.#blocks.tools) {
      const shows = listOf(own.content).some(item => fieldsOf(item).terminalId === terminalId);
      if (shows) this.#tell(agentId);
    }
  }

  /** Ends what the agent has left open. */
  endAll(why: Unfinished): void {
    const error = { message: unfinishedMessages[why], code: why };
    this.#blocks.interruptTools(({ own }) => ({ error, details: endDetails(own) }));
  }

  #hasEnded(agentId: string): boolean {
    return this.#known.has(agentId) && !this.#blocks.tools.has(agentId);
  }

  #begin(agentId: string, update: Fields): void {
    if (this.#blocks.tools.size >= maxRunning || this.#started >= maxStarted) return;
    this.#started++;
    this.#blocks.endTexts();
    this.#start(agentId, update);
    this.#progress(agentId, update);
  }

  #note(agentId: string, update: Fields): void {
    const known = this.#known.get(agentId);
    const announced = this.#blocks.tools.get(agentId)?.own.announced;
    const said = announcementOf(update);
    if (!known || !announced || !said) return;
    if (announced.length < maxAnnouncements) announced.push(said);
    else known.isAnnouncedCut = true;
  }

  /** The oldest ended call makes room; fewer calls run than are remembered. */
  #makeRoom(): void {
    if (this.#known.size < maxKnown) return;
    for (const agentId of this.#known.keys()) {
      if (!this.#hasEnded(agentId)) continue;
      this.#known.delete(agentId);
      return;
    }
  }

  #start(agentId: string, update: Fields): void {
    this.#makeRoom();
    const locations = locationsOf(update);
    const details: ToolStartDetails = given({
      kind: kindOf(update.kind),
      locations: locations.length > 0 ? locations : undefined,
    });
    const start = {
      parentId: this.#parentOf(update),
      name: toolNameOf(update),
      args: argumentsOf(update),
      details,
    };
    const { id } = this.#blocks.startTool(agentId, start, {
      announced: [],
      content: undefined,
      rawInput: fieldsOf(update.rawInput),
      rawOutput: undefined,
      kind: textOf(update.kind),
      told: 0,
    });
    this.#known.set(agentId, { id, isAnnouncedCut: false });
  }

  #parentOf(update: Fields): string | undefined {
    const parent = explicitParent(update);
    if (parent !== undefined) return this.#known.get(parent)?.id;
    const subAgent = subAgentOf(update);
    if (subAgent === undefined) return undefined;
    const paired = [...this.#known.values()].find(tool => tool.subAgent === subAgent);
    const found = paired ?? this.#callOfSubAgent();
    if (found) found.subAgent = subAgent;
    return found?.id;
  }

  /** The oldest running call that starts a sub-agent and is not yet assigned to one. */
  #callOfSubAgent(): KnownTool | undefined {
    for (const [agentId, known] of this.#known) {
      const tool = this.#blocks.tools.get(agentId)?.own;
      const starts = tool && ("agent_type" in tool.rawInput || tool.kind === "subagent");
      if (starts && known.subAgent === undefined) return known;
    }
    return undefined;
  }

  #progress(agentId: string, update: Fields): void {
    const tool = this.#blocks.tools.get(agentId);
    if (!tool) return;
    if (update.rawInput !== undefined) tool.own.rawInput = fieldsOf(update.rawInput);
    if (update.rawOutput !== undefined) tool.own.rawOutput = update.rawOutput;
    if (Array.isArray(update.content)) {
      tool.own.content = update.content;
      this.#tell(agentId);
    }
    if (update.status === "completed") this.#blocks.endTool(agentId, this.#completed(tool));
    else if (update.status === "failed") this.#blocks.endTool(agentId, this.#failed(tool));
  }

  #tell(agentId: string): void {
    const tool = this.#blocks.tools.get(agentId);
    if (!tool) return;
    const text = toolText(tool.own.content, this.#terminalText);
    const delta = tool.own.told > maxTextChars ? "" : deltaOf(tool.text, text);
    tool.own.told += delta.length;
    // The content replaces the earlier content; readers get only what is new.
    this.#blocks.toolDelta(agentId, tool.own.told > maxTextChars ? cut(delta) : delta, text);
  }

  #completed({ own }: OpenTool): ToolEnd {
    const output = fieldsOf(own.rawOutput);
    // A terminal may have written more since.
    const rendered = toolText(own.content, this.#terminalText);
    const content = cut(rendered || textOf(output.content) || rawText(own.rawOutput));
    const detailed = cut(textOf(output.detailedContent) ?? diffText(diffsOf(own.content)));
    const detailedContent = detailed !== "" && detailed !== content ? detailed : undefined;
    return { result: { content, ...given({ detailedContent }) }, details: endDetails(own) };
  }

  #failed({ own }: OpenTool): ToolEnd {
    const output = fieldsOf(own.rawOutput);
    const rendered = toolText(own.content, this.#terminalText);
    const message = cut(textOf(output.message) || rendered || textOf(own.rawOutput) || "The tool failed.");
    return { error: { message, ...given({ code: textOf(output.code) }) }, details: endDetails(own) };
  }
}

function endDetails({ content, rawOutput }: AcpTool): ToolEndDetails {
  const diffs = diffsOf(content);
  return given({
    diffs: diffs.length > 0 && isShownWhole(diffs) ? diffs : undefined,
    exitCode: exitCodeOf(rawOutput),
  });
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
