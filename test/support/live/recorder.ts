import assert from "node:assert/strict";
import type { SessionCallbacks, TurnUsage } from "../../../src/copilotSession.js";

/** One call of a callback. */
export interface Call {
  name: string;
  args: unknown[];
}

export interface ToolBlock {
  id: string;
  parent: string | undefined;
  name: string;
  args: unknown;
  streamed: string;
  result: { content: string; detailedContent?: string } | undefined;
  error: { message: string; code?: string } | undefined;
  interrupted: boolean;
}

export interface TextBlock {
  id: string;
  streamed: string;
  content: string;
  interrupted: boolean;
}

/** Records the callbacks of a session and checks their promises. */
export interface Recorder {
  readonly callbacks: SessionCallbacks;
  readonly calls: readonly Call[];
  readonly messages: TextBlock[];
  readonly reasoning: TextBlock[];
  readonly tools: ToolBlock[];
  readonly usages: TurnUsage[];
  readonly notices: string[];
  /** Resolves with the first call, past or future, that `matches`. */
  waitFor(matches: (call: Call) => boolean): Promise<Call>;
  /** Throws when the callbacks so far, with `requests` ended requests, break a promise. */
  check(requests: number): void;
}

const names = [
  "onStartReasoning",
  "onReasoning",
  "onEndReasoning",
  "onStartMessage",
  "onMessage",
  "onEndMessage",
  "onStartToolExecution",
  "onToolExecution",
  "onEndToolExecution",
  "onAgentStart",
  "onAgentEnd",
  "onIdle",
  "onUsage",
  "onNotice",
] as const;

export function recorder(): Recorder {
  const calls: Call[] = [];
  const lookers = new Set<() => void>();
  const record = (name: string, args: unknown[]) => {
    calls.push({ name, args });
    for (const look of lookers) look();
  };
  const entries = names.map(name => [name, (...args: unknown[]) => record(name, args)]);
  return {
    callbacks: Object.fromEntries(entries) as SessionCallbacks,
    calls,
    get messages() {
      return textBlocks(calls, "Message");
    },
    get reasoning() {
      return textBlocks(calls, "Reasoning");
    },
    get tools() {
      return toolBlocks(calls);
    },
    get usages() {
      return calls.filter(({ name }) => name === "onUsage").map(({ args }) => args[0] as TurnUsage);
    },
    get notices() {
      return calls.filter(({ name }) => name === "onNotice").map(({ args }) => String(args[1]));
    },
    waitFor(matches) {
      return new Promise(resolve => {
        const look = () => {
          const found = calls.find(matches);
          if (!found) return;
          lookers.delete(look);
          resolve(found);
        };
        lookers.add(look);
        look();
      });
    },
    check: requests => checkStream(calls, requests),
  };
}

function textBlocks(calls: readonly Call[], kind: "Message" | "Reasoning"): TextBlock[] {
  const blocks = new Map<string, TextBlock>();
  for (const { name, args } of calls) {
    const id = String(args[0]);
    if (name === `onStart${kind}`) blocks.set(id, { id, streamed: "", content: "", interrupted: false });
    const block = blocks.get(id);
    if (block && name === `on${kind}`) block.streamed += String(args[1]);
    if (block && name === `onEnd${kind}`) {
      block.content = String(args[1]);
      block.interrupted = args[2] === true;
    }
  }
  return [...blocks.values()];
}

function toolBlocks(calls: readonly Call[]): ToolBlock[] {
  const blocks = new Map<string, ToolBlock>();
  for (const { name, args } of calls) {
    const id = String(args[0]);
    if (name === "onStartToolExecution") {
      const [, parent, toolName, text] = args as [string, string | undefined, string, string];
      const given = { id, parent, name: toolName, args: JSON.parse(text) };
      blocks.set(id, { ...given, streamed: "", result: undefined, error: undefined, interrupted: false });
    }
    const block = blocks.get(id);
    if (block && name === "onToolExecution") block.streamed += String(args[1]);
    if (block && name === "onEndToolExecution") {
      block.result = args[1] as ToolBlock["result"];
      block.error = args[2] as ToolBlock["error"];
      block.interrupted = args[3] === true;
    }
  }
  return [...blocks.values()];
}

interface OpenBlock {
  key: string;
  streamed: string;
  /** A block of a sub-agent may outlast the turn in which it began. */
  inner: boolean;
}

/** The invariants of `spec/portal.md` §4, for any backend. */
export function checkStream(calls: readonly Call[], requests: number): void {
  const used = new Set<string>();
  const open = new Map<string, OpenBlock>();
  let turn: string | undefined;
  let usageReported = 0;
  let idles = 0;
  for (const { name, args } of calls) {
    const id = String(args[0]);
    const block = /^on(Start|End)?(Reasoning|Message|ToolExecution)$/.exec(name);
    if (block) {
      const key = `${block[2]} ${id}`;
      if (block[1] === "Start") {
        assert.ok(!used.has(key), `${key} started twice`);
        used.add(key);
        const inner = block[2] === "ToolExecution" && args[1] !== undefined;
        open.set(key, { key, streamed: "", inner });
        const siblings = [...open.keys()].filter(other => other.startsWith(`${block[2]} `));
        if (block[2] !== "ToolExecution") assert.equal(siblings.length, 1, `two open: ${siblings}`);
      } else {
        const known = open.get(key);
        assert.ok(known, `${name} of ${key}, which is not open`);
        if (block[1] === undefined) known.streamed += String(args[1]);
        else {
          open.delete(key);
          const complete = completeContent(name, args);
          assert.ok(complete.startsWith(known.streamed), `${key} streamed what its end does not begin with`);
        }
      }
    } else if (name === "onAgentStart") {
      assert.equal(turn, undefined, `turn ${id} began inside ${turn}`);
      assert.ok(!used.has(`turn ${id}`), `turn ${id} began twice`);
      used.add(`turn ${id}`);
      turn = id;
    } else if (name === "onAgentEnd") {
      assert.equal(id, turn, "a turn ended that was not running");
      const late = [...open.values()].filter(({ inner }) => !inner).map(({ key }) => key);
      assert.deepEqual(late, [], "blocks outlasted their turn");
      turn = undefined;
    } else if (name === "onUsage") usageReported++;
    else if (name === "onIdle") {
      idles++;
      assert.equal(turn, undefined, `turn ${turn} outlasted its request`);
      assert.deepEqual([...open.keys()], [], "blocks outlasted their request");
      assert.equal(usageReported, idles, "onUsage comes once before each onIdle");
    }
  }
  assert.deepEqual([...open.keys()], [], "blocks were left open");
  assert.equal(turn, undefined, "a turn was left open");
  assert.equal(idles, requests, "onIdle comes once per request");
  if (requests > 0) assert.equal(calls.at(-1)?.name, "onIdle", "onIdle comes last");
}

function completeContent(name: string, args: unknown[]): string {
  if (name !== "onEndToolExecution") return String(args[1]);
  const [, result, error] = args as [string, ToolBlock["result"], ToolBlock["error"]];
  assert.ok(result || error, "a tool ended without result and without error");
  return result?.detailedContent ?? result?.content ?? "";
}
