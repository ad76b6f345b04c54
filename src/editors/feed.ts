import { setTimeout as delay } from "node:timers/promises";
import type { EventSourceMessage } from "eventsource-parser";
import { type StoredResponse, storedResponse } from "../live/storedResponse.js";
import type { Portal } from "./portal.js";
import { PortalGone, PortalRefusal } from "./rpcErrors.js";

export interface FeedEvent {
  /** The position to resume after it. */
  id: string;
  data: StoredResponse;
  /** The log it comes from, when everything below a log is read. */
  logId: string;
}

export interface FeedOptions {
  /** The `id` of the last known event. */
  after: string;
  signal: AbortSignal;
  /** Includes everything below the log. */
  all?: boolean;
}

/** A restarted portal is back by then, and its sessions and jobs continue. */
const patienceMs = 30_000;
const retryMs = 200;

/**
 * The events of a log, as many at a time as there are. A lost connection resumes where it was, so nothing
 * is missed and nothing comes twice. Ends when the log is closed; throws when it is unknown or the portal is gone.
 */
export async function* follow(
  portal: Portal,
  path: string,
  { after, signal, all = false }: FeedOptions,
): AsyncGenerator<FeedEvent[]> {
  let last = after;
  let lostAtMs: number | undefined;
  for (;;) {
    const query = new URLSearchParams({ ...(all && { all: "1" }), ...(last !== "" && { after: last }) });
    try {
      for await (const records of portal.stream(`${path}?${query}`, signal)) {
        lostAtMs = undefined;
        const events = records.flatMap(record => (record.event === "closed" ? [] : [record]));
        last = events.at(-1)?.id ?? last;
        if (events.length > 0) yield events.map(feedEvent);
        if (events.length < records.length) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PortalRefusal && !error.isTemporary) throw error;
    }
    signal.throwIfAborted();
    lostAtMs ??= performance.now();
    if (portal.isDead || performance.now() - lostAtMs > patienceMs)
      throw new PortalGone(`The portal at ${portal.url} does not answer any more.`);
    await delay(retryMs, undefined, { signal });
  }
}

function feedEvent({ id = "", data }: EventSourceMessage): FeedEvent {
  const value = JSON.parse(data) as { id?: string };
  return { id, data: storedResponse(value), logId: value.id ?? "" };
}
