import { setImmediate as nextTurn } from "node:timers/promises";
import type { Response } from "express";
import { deferred } from "../base/deferred.js";
import { type Cursor, liveReader, readerOfToken } from "./cursors.js";
import type { LiveLog } from "./liveLog.js";
import { readLog, readOne } from "./reading.js";

/** The errors that `live` and `live/{token}` may answer. */
export interface LiveErrors {
  readonly closed: string;
  readonly notFound: string;
}

/** An answer must be small enough to parse at once; the rest comes with the next call. */
const maxAnswerChars = 64 * 1024 * 1024;

const isGone = (res: Response) => res.closed || res.destroyed;

/** Ends the answer; true when it was delivered, false when the client hung up. */
function end(res: Response, text: string): Promise<boolean> {
  return new Promise(resolve => {
    if (isGone(res)) return resolve(false);
    res.once("finish", () => resolve(true));
    res.once("close", () => resolve(false));
    if (!res.headersSent) res.setHeader("Content-Type", "application/json; charset=utf-8");
    res.end(text);
  });
}

export const sendError = (res: Response, error: string) => end(res, JSON.stringify({ error }));

async function write(res: Response, text: string): Promise<void> {
  if (!res.headersSent) res.setHeader("Content-Type", "application/json; charset=utf-8");
  if (isGone(res) || res.write(text)) return;
  await new Promise<void>(resolve => {
    const done = () => {
      res.off("drain", done).off("close", done);
      resolve();
    };
    res.once("drain", done).once("close", done);
  });
}

/** Tries to answer from what is there: "nothing", or how far the answer reaches and whether it was delivered. */
type Sender = (
  log: LiveLog,
  after: number,
  res: Response,
) => Promise<"nothing" | { n: number; isSent: boolean }>;

const sendOne: Sender = async (log, after, res) => {
  const response = await readOne(log, after);
  return response ? { n: response.n, isSent: await end(res, response.json) } : "nothing";
};

const sendAll: Sender = async (log, after, res) => {
  let n = after;
  let text = "";
  for await (const page of readLog(log, after, { wholeAnswerChars: maxAnswerChars })) {
    n = page.lastN;
    if (page.responses.length === 0) continue;
    const items = page.responses.map(response => response.json).join(",");
    if (text === "") text = `{"responses":[${items}`;
    else {
      await write(res, text);
      if (isGone(res)) return { n, isSent: false };
      text = `,${items}`;
    }
  }
  return text === "" ? "nothing" : { n, isSent: await end(res, `${text}]}`) };
};

/** Resolves when there is more than `seenN`, the log is closed, the client has gone, or the time is up. */
function change(log: LiveLog, seenN: number, res: Response, deadlineMs: number): Promise<void> {
  return new Promise(resolve => {
    const hasChanged = () => log.visibleN > seenN || log.closed;
    if (hasChanged() || isGone(res)) return resolve();
    const done = () => {
      unwatch();
      res.off("close", done);
      clearTimeout(timer);
      resolve();
    };
    const unwatch = log.watch(() => hasChanged() && done());
    const timer = setTimeout(done, Math.max(0, deadlineMs - performance.now()));
    res.once("close", done);
  });
}

async function answer(
  log: LiveLog,
  cursor: Cursor,
  res: Response,
  { send, errors, deadlineMs }: { send: Sender; errors: LiveErrors; deadlineMs: number },
): Promise<void> {
  while (!isGone(res)) {
    const isClosed = log.closed;
    const seenN = log.visibleN;
    const sent = await send(log, cursor.n, res);
    if (sent !== "nothing") {
      // A client that hung up gets the same answer again.
      if (sent.isSent) log.moveCursor(cursor, { n: sent.n, told: false });
      return;
    }
    if (isClosed) {
      if (await sendError(res, errors.closed)) log.moveCursor(cursor, { n: cursor.n, told: true });
      return;
    }
    if (performance.now() >= deadlineMs) return void (await sendError(res, "HttpRequestTimeout"));
    await change(log, seenN, res, deadlineMs);
  }
}

/** Answers one call of `live` (without a token) or `live/{token}`. */
export async function longPoll(
  log: LiveLog,
  token: string | undefined,
  res: Response,
  errors: LiveErrors,
  timeoutMs: number,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  const cursor = await log.cursor(token === undefined ? liveReader : readerOfToken(token));
  // A client's next call may arrive before its previous hang-up is noticed, or before that call has ended.
  for (let turn = 0; cursor.call; turn++) {
    if (cursor.call.isGone()) await cursor.call.ended;
    else if (turn < 2) await nextTurn();
    else return void (await sendError(res, "ParallelCallNotSupported"));
  }
  if (cursor.told) return void (await sendError(res, errors.notFound));
  const { promise: ended, resolve } = deferred();
  cursor.call = { isGone: () => isGone(res), ended };
  try {
    await answer(log, cursor, res, { send: token === undefined ? sendOne : sendAll, errors, deadlineMs });
  } finally {
    cursor.call = undefined;
    resolve();
  }
}
