import assert from "node:assert/strict";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { type AnyResponse, collectUntil, type SseEvent, sseEvents } from "../live/sse.js";
import {
  byPrompt,
  type Script,
  type ScriptedModel,
  type ScriptedModelForTest,
  startScriptedModel,
} from "../model/scriptedModel.js";
import { shared } from "../sharing.js";
import { type Portal, type PortalOptions, startPortal } from "./portal.js";

/** A session as a script sees it. */
export interface RestSession {
  readonly id: string;
  /** `…/copilot/session/{id}/PATH`. */
  call<T = AnyResponse>(path: string, init?: RequestInit): Promise<T>;
  /** Returns the id of the request. */
  query(prompt: string): Promise<string>;
  /** The responses after `after`, past and future. */
  events(after?: number, signal?: AbortSignal): AsyncGenerator<SseEvent<AnyResponse>>;
  /** All responses up to the `idles`-th `onIdle`. */
  untilIdle(idles?: number): Promise<AnyResponse[]>;
  /** The first response, past or future, with this callback. */
  waitFor(callback: string): Promise<AnyResponse>;
}

export interface PortalWithModel {
  portal: Portal;
  model: ScriptedModel;
  workingDirectory: string;
  /** `query` is part of the start call, such as `?permissions=ask`. */
  startSession(query?: string): Promise<RestSession>;
}

export function sessionById(portal: Portal, id: string): RestSession {
  const path = `copilot/session/${id}`;
  const events = (after = 0, signal?: AbortSignal) =>
    sseEvents(`${portal.url}/api/${path}/events?after=${after}`, signal && { signal });
  return {
    id,
    async call<T>(part: string, init?: RequestInit) {
      return (await portal.api<T>(part === "" ? path : `${path}/${part}`, init)).body;
    },
    async query(prompt) {
      const { status, body } = await portal.api<{ requestId: string }>(`${path}/query`, { body: prompt });
      assert.deepEqual({ status, names: Object.keys(body) }, { status: 200, names: ["requestId"] });
      return body.requestId;
    },
    events,
    async untilIdle(idles = 1) {
      let seen = 0;
      const all = await collectUntil(events(), ({ data }) => data.callback === "onIdle" && ++seen === idles);
      return all.map(({ data }) => data);
    },
    async waitFor(callback) {
      const all = await collectUntil(events(), ({ data }) => data.callback === callback);
      return all.at(-1)?.data ?? {};
    },
  };
}

/** A portal whose only model is scripted, and a folder to work in. */
export async function portalWithModel(
  t: Scope,
  script: ScriptedModelForTest | Script = {},
  options: PortalOptions = {},
): Promise<PortalWithModel> {
  const model = await startScriptedModel(t, script);
  const portal = await startPortal(t, { model, ...options });
  return withFolder(t, portal, model);
}

/**
 * One portal for all tests that leave it running, of all files of the process that ask for the same options, because
 * each start costs a second of a core. Each test has its own script of the model and its own sessions. Call it at the
 * top of the file.
 */
export function sharedPortal({ models, ...options }: PortalOptions & { models?: string[] } = {}) {
  return shared(`portal ${JSON.stringify({ models, ...options })}`, scope => {
    let script: Script = byPrompt({});
    let parts: Promise<{ portal: Portal; model: ScriptedModel }> | undefined;
    const start = async () => {
      const model = await startScriptedModel(scope, {
        script: request => script(request),
        ...(models && { models }),
      });
      return { model, portal: await startPortal(scope, { model, ...options }) };
    };
    return async (t: Scope, scriptOfTest: Script = byPrompt({})): Promise<PortalWithModel> => {
      script = scriptOfTest;
      parts ??= start();
      const { portal, model } = await parts;
      defer(t, () => deleteSessions(portal));
      return withFolder(t, portal, model.fromHere());
    };
  });
}

export async function deleteSessions(portal: Portal): Promise<void> {
  const path = "copilot/session/history?limit=100";
  const { sessions } = (await portal.api<{ sessions: { sessionId: string }[] }>(path)).body;
  for (const { sessionId } of sessions)
    await portal.api(`copilot/session/${sessionId}/delete`, { method: "POST" });
}

async function withFolder(t: Scope, portal: Portal, model: ScriptedModel): Promise<PortalWithModel> {
  const workingDirectory = await tempFolder(t, "portal-work");
  return {
    portal,
    model,
    workingDirectory,
    async startSession(query = "") {
      const path = `copilot/session/start/${model.modelId}${query}`;
      const { body } = await portal.api<{ sessionId?: string }>(path, { body: workingDirectory });
      assert.ok(body.sessionId, `no session: ${JSON.stringify(body)}`);
      return sessionById(portal, body.sessionId);
    },
  };
}

/** The complete contents of the messages, in order. */
export function messagesOf(responses: readonly AnyResponse[]): unknown[] {
  return responses
    .filter(({ callback }) => callback === "onEndMessage")
    .map(response => response.completeContent);
}

export function callbacksOf(responses: readonly AnyResponse[]): string[] {
  return responses.map(response => String(response.callback ?? Object.keys(response)[0]));
}

/** The request ids of the responses with this callback, in order. */
export function requestsIn(responses: readonly AnyResponse[], callback: string): string[] {
  return responses
    .filter(response => response.callback === callback)
    .map(({ requestId }) => String(requestId));
}

export function isEndOf(id: string, { callback, requestId }: AnyResponse): boolean {
  return callback === "onIdle" && requestId === id;
}
