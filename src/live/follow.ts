import type { EventStream } from "./eventStream.js";
import type { LiveLog } from "./liveLog.js";
import type { ReadResponse } from "./merge.js";
import { readLog } from "./reading.js";

/** Events are batched up to this size before they are written. */
const maxWriteChars = 64 * 1024;

/** Resolves when the log has changed or the client has gone. */
function change(log: LiveLog, after: number, stream: EventStream): Promise<void> {
  return new Promise(resolve => {
    if (log.visibleN > after || log.closed || stream.isGone) return resolve();
    const done = () => {
      unwatch();
      unsubscribe();
      resolve();
    };
    const unwatch = log.watch(done);
    const unsubscribe = stream.onGone(done);
  });
}

/**
 * Sends a log from a given number until it is closed or the client has gone; several logs may share a stream.
 * Waits for a slow client: nothing is read from the log that the client cannot take.
 */
export async function followLog(
  log: LiveLog,
  after: number,
  stream: EventStream,
  eventOf: (response: ReadResponse) => string,
): Promise<void> {
  for (let at = after; !stream.isGone; ) {
    const last = log.visibleN;
    for await (const { responses } of readLog(log, at)) {
      let events = "";
      for (const response of responses) {
        events += eventOf(response);
        if (events.length < maxWriteChars) continue;
        await stream.send(events);
        if (stream.isGone) return;
        events = "";
      }
      await stream.send(events);
      if (stream.isGone) return;
    }
    at = Math.max(at, last);
    if (log.closed && log.visibleN <= at) return;
    await change(log, at, stream);
  }
}
