import type { EventStream } from "./eventStream.js";
import { writeDelayMs } from "./joining.js";
import type { LiveLog } from "./liveLog.js";
import type { ReadResponse } from "./merge.js";
import { readLog, readRecent } from "./reading.js";

/** Events are batched up to this size before they are written. */
const maxWriteChars = 64 * 1024;

/** Resolves when something is to be written or the client has gone. */
function due(log: LiveLog, after: number, stream: EventStream): Promise<void> {
  return new Promise(resolve => {
    let leaveWindow: (() => void) | undefined;
    const done = () => {
      unwatch();
      unsubscribe();
      leaveWindow?.();
      resolve();
    };
    const look = () => {
      const { visibleN, otherN, closed: isClosed } = log;
      const { sinceWriteMs } = stream;
      const delayMs = writeDelayMs({ after, visibleN, otherN, isClosed, sinceWriteMs });
      if (delayMs === 0 || stream.isGone) done();
      else if (log.isOver) done();
      else if (delayMs !== undefined) leaveWindow ??= stream.onWindowEnd(done);
    };
    const unwatch = log.watch(look);
    const unsubscribe = stream.onGone(done);
    look();
  });
}

/**
 * Sends the responses above a number and up to another one. An event is written in the same tick as it is made, because
 * the next event of another log on the stream may say how far this one was sent.
 */
async function sendBetween(
  log: LiveLog,
  after: number,
  last: number,
  stream: EventStream,
  eventOf: (response: ReadResponse) => string,
): Promise<void> {
  // Most readers keep up: what they have not read is in memory, in one piece.
  for await (const { responses } of readRecent(log, after, last) ?? readLog(log, after)) {
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
}

/**
 * Sends a log from a given number until it is closed or the client has gone; several logs may share a stream. A log that
 * is over without being closed ends the stream: the client comes back for all of them.
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
    if (last > at) await sendBetween(log, at, last, stream, eventOf);
    at = Math.max(at, last);
    if (stream.isGone || (log.closed && log.visibleN <= at)) return;
    if (log.isOver) return stream.end("");
    await due(log, at, stream);
  }
}
