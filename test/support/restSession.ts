import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { tempFolder } from "./cleanup.js";
import { type Portal, type PortalOptions, startPortal } from "./portal.js";
import {
  type Script,
  type ScriptedModel,
  type ScriptedModelForTest,
  startScriptedModel,
} from "./scriptedModel.js";
import { type AnyResponse, collectUntil, type SseEvent, sseEvents } from "./sse.js";

/** A session as a script sees it. */
export interface RestSession {
  readonly id: string;
  /** `…/copilot/session/{id}/PATH`. */
  call<T = AnyResponse>(path: string, init?: RequestInit): Promise<T>;
  query(prompt: string): Promise<void>;
  /** What is in the log behind `after`, and what comes. */
  events(after?: number): AsyncGenerator<SseEvent<AnyResponse>>;
  /** All responses up to the `idles`-th `onIdle`. */
  untilIdle(idles?: number): Promise<AnyResponse[]>;
  /** The first response, past or to come, with this callback. */
  waitFor(callback: string): Promise<AnyResponse>;
}

export interface PortalWithModel {
  portal: Portal;
  model: ScriptedModel;
  workingDirectory: string;
  /** `query` is that of the start call: `?permissions=ask`. */
  startSession(query?: string): Promise<RestSession>;
}

export function sessionById(portal: Portal, id: string): RestSession {
  const path = `copilot/session/${id}`;
  const events = (after = 0) => sseEvents(`${portal.url}/api/${path}/events?after=${after}`);
  return {
    id,
    async call<T>(part: string, init?: RequestInit) {
      return (await portal.api<T>(part === "" ? path : `${path}/${part}`, init)).body;
    },
    async query(prompt) {
      const { status, body } = await portal.api(`${path}/query`, { body: prompt });
      assert.deepEqual({ status, body }, { status: 200, body: {} });
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
  t: TestContext,
  script: ScriptedModelForTest | Script = {},
  options: PortalOptions = {},
): Promise<PortalWithModel> {
  const model = await startScriptedModel(t, script);
  const portal = await startPortal(t, { model, ...options });
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
