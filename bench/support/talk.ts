import type { Step } from "../../test/support/model/scriptedModel.js";
import type { RestSession } from "../../test/support/portal/restSession.js";
import { percentile } from "./turns.js";

/** A conversation with an agent, whichever way it is reached. */
export interface Talk {
  turn(prompt: string, onDelta: (delta: string) => void): Promise<void>;
}

/** A turn as a page sees it: the request by POST, the responses on one event stream that stays open. */
export function throughPortal(session: RestSession, after = 0): Talk {
  const events = session.events(after);
  return {
    async turn(prompt, onDelta) {
      const requestId = await session.query(prompt);
      for (;;) {
        const { value, done } = await events.next();
        if (done) throw new Error("The event stream ended within a turn");
        const { callback } = value.data;
        if (callback === "onMessage") onDelta(String(value.data.delta));
        if (callback === "onIdle" && value.data.requestId === requestId) return;
      }
    },
  };
}

/** The reply of a model at this pace; each delta is the time at which the model sent it. */
export function stampedDeltas(count: number, delayMs: number): Step[] {
  const stamped = {
    get text() {
      return `${performance.now().toFixed(2)} `;
    },
    delayMs,
  };
  return Array.from({ length: count }, () => stamped);
}

/** How long the deltas of a turn took from the model to this reader, who is in the model's process. */
export async function delaysMs(talk: Talk, prompt: string): Promise<number[]> {
  const delays: number[] = [];
  await talk.turn(prompt, delta => {
    // Several deltas may arrive together.
    for (const sentAtMs of delta.trim().split(" ")) delays.push(performance.now() - Number(sentAtMs));
  });
  return delays;
}

export async function p99DelayMs(talk: Talk, prompt: string): Promise<number> {
  return percentile(await delaysMs(talk, prompt), 0.99);
}
