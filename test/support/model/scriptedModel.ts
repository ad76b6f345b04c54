import type { ModelRequest } from "../../../src/backends/scripted/modelRequest.js";
import {
  type ReplyEnd,
  type Script,
  type ScriptedModelOptions,
  type ScriptedServer,
  startScriptedModel as startServer,
} from "../../../src/backends/scripted/server.js";
import type { Step } from "../../../src/backends/scripted/steps.js";
import { defer, type Scope } from "../cleanup.js";

export type { ModelRequest } from "../../../src/backends/scripted/modelRequest.js";
export type { ReplyEnd, Script } from "../../../src/backends/scripted/server.js";
export type { Step } from "../../../src/backends/scripted/steps.js";

/** Long, because the runtime masks the key wherever it appears in the output of a tool. */
export const scriptedApiKey = "scripted-model-key-for-tests-only";
export const scriptedModelId = "gpt-5.1-mini";

export interface RecordedRequest {
  request: ModelRequest;
  receivedAtMs: number;
  /** "hungUp" shows a test that the turn was aborted. */
  end: Promise<ReplyEnd>;
}

export interface ScriptedModel extends ScriptedServer {
  readonly modelId: string;
  readonly requests: readonly RecordedRequest[];
  /** The first request, past or future, that `matches`. */
  waitForRequest(matches?: (request: ModelRequest) => boolean): Promise<RecordedRequest>;
  /** The same model without the requests so far. */
  fromHere(): ScriptedModel;
}

export type ScriptedModelForTest = Partial<Omit<ScriptedModelOptions, "onRequest">>;

/** The only fake of the tests: a model with scripted replies. It ends with the test. */
export async function startScriptedModel(
  t: Scope,
  options: ScriptedModelForTest | Script,
): Promise<ScriptedModel> {
  const given = typeof options === "function" ? { script: options } : options;
  const requests: RecordedRequest[] = [];
  const waiting = new Set<() => void>();
  const models = given.models ?? [scriptedModelId];
  const server = await startServer({
    script: byPrompt({}),
    apiKey: scriptedApiKey,
    ...given,
    models,
    onRequest(request, end) {
      requests.push({ request, receivedAtMs: Date.now(), end });
      for (const look of waiting) look();
    },
  });
  defer(t, () => server.close());
  const view = (start: number): ScriptedModel => ({
    ...server,
    modelId: models[0] ?? scriptedModelId,
    get requests() {
      return requests.slice(start);
    },
    waitForRequest(matches = () => true) {
      return new Promise(resolve => {
        const look = () => {
          const found = requests.slice(start).find(recorded => matches(recorded.request));
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      });
    },
    fromHere: () => view(requests.length),
  });
  return view(0);
}

export type ScriptedReply = Step[] | Script;

/**
 * The script of most tests: the longest key that the user's latest request contains chooses the turn, and the
 * number of replies so far chooses the reply within it. The last reply is repeated when the runtime asks again.
 */
export function byPrompt(turns: Record<string, ScriptedReply | ScriptedReply[]>): Script {
  const keys = Object.keys(turns).sort((a, b) => b.length - a.length);
  return request => {
    const key = keys.find(candidate => request.userText.includes(candidate));
    const turn = key === undefined ? undefined : turns[key];
    if (turn === undefined) return [{ text: `You said: ${request.userText}` }];
    const replies = isReplyList(turn) ? turn : [turn];
    const reply = replies[Math.min(request.round, replies.length - 1)] ?? [];
    return typeof reply === "function" ? reply(request) : reply;
  };
}

function isReplyList(turn: ScriptedReply | ScriptedReply[]): turn is ScriptedReply[] {
  return Array.isArray(turn) && turn.every(item => Array.isArray(item) || typeof item === "function");
}

/** Fails the first `times` attempts of each request in the given way, then replies. */
export function failFirst(times: number, failure: Step[], reply: Step[]): Script {
  const attempts = new Map<string, number>();
  return request => {
    // The runtime repeats a failed request word for word, with its original time.
    const key = JSON.stringify(request.body.messages);
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    return attempt <= times ? failure : reply;
  };
}

export interface Barrier {
  /** A step at which the model stops until the test releases it. */
  readonly step: Step;
  /** Resolves when a reply has reached the barrier; everything before it has been sent. */
  readonly reached: Promise<void>;
  release(): void;
}

export function barrier(): Barrier {
  let arrive = () => {};
  let release = () => {};
  const reached = new Promise<void>(resolve => {
    arrive = resolve;
  });
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  const wait = () => {
    arrive();
    return released;
  };
  return { step: { wait }, reached, release };
}

/** `deltas` deltas of five characters each. */
export function largeText(deltas: number): Step {
  return { text: "word ".repeat(deltas), chunkSize: 5 };
}

export function callTool(name: string, args: Record<string, unknown> | string): Step {
  return { toolCalls: [{ name, arguments: args }] };
}

export function runShell(command: string): Step {
  return callTool("bash", { command, description: "Run a command of the test" });
}

/** The ways in which a provider fails. The steps before a failure are sent first. */
export const fault = {
  hang: { fault: "hang" },
  destroy: { fault: "destroy" },
  endWithoutFinish: { fault: "endWithoutFinish" },
  malformedChunk: { raw: 'data: {"choices": [{"delta": {"content"\n\n' },
  sseError: { sseError: { message: "the scripted provider is broken", code: "server_error" } },
  http: (status: number, headers: Record<string, string> = {}, message = `scripted ${status}`): Step => ({
    http: status,
    headers,
    body: { error: { message, code: String(status) } },
  }),
  /** Half of the arguments of a tool call, then the connection breaks. */
  cutToolArguments: (name: string): Step[] => [
    { toolCalls: [{ name, arguments: '{"command": "ec' }] },
    { fault: "destroy" },
  ],
} as const satisfies Record<string, Step | ((...args: never[]) => Step | Step[])>;
