import type { TestContext } from "node:test";
import { defer } from "../cleanup.js";
import { type AnyResponse, collectUntil } from "../live/sse.js";
import type { RestSession } from "../portal/restSession.js";

/** A session with a reader: each call continues where the previous one stopped reading. */
export interface Conversation extends RestSession {
  /** Everything up to and including the next response with this callback. */
  until(callback: string): Promise<AnyResponse[]>;
  /** The next response with this callback. */
  next(callback: string): Promise<AnyResponse>;
  /** Sends the prompt; returns everything until the session is idle again. */
  ask(prompt: string): Promise<AnyResponse[]>;
  /** Posts JSON to `…/copilot/session/{id}/PATH`. */
  post<T = AnyResponse>(path: string, body: unknown): Promise<T>;
}

export function converse(t: TestContext, session: RestSession): Conversation {
  const hangUp = new AbortController();
  defer(t, () => hangUp.abort());
  const events = session.events(0, hangUp.signal);
  // Leaving the loop would close the connection.
  const rest = { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) };
  const until = async (callback: string) =>
    (await collectUntil(rest, ({ data }) => data.callback === callback)).map(({ data }) => data);
  const next = async (callback: string) => (await until(callback)).at(-1) ?? {};
  return {
    ...session,
    until,
    next,
    async ask(prompt) {
      await session.query(prompt);
      return until("onIdle");
    },
    post: (path, body) => session.call(path, { method: "POST", body: JSON.stringify(body) }),
  };
}

export const only = (responses: readonly AnyResponse[], callback: string) =>
  responses.filter(response => response.callback === callback);

/** The end of the only tool in these responses. */
export function toolEnd(responses: readonly AnyResponse[]): {
  result?: { content: string; detailedContent?: string };
  error?: { message: string; code?: string };
  [more: string]: unknown;
} {
  return only(responses, "onEndToolExecution")[0] ?? {};
}
