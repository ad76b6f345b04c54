import type { Request, Response } from "express";
import { defineRoute, type JsonSchema, type Route } from "./api/route.js";
import { domainError, either, list, number, object } from "./api/schemas.js";
import { PortalError } from "./base/portalError.js";
import { closedEvent, EventStream } from "./live/eventStream.js";
import { followLog } from "./live/follow.js";
import type { LiveLogs } from "./live/liveLogs.js";
import type { LogKind } from "./live/liveResponse.js";
import { readPage } from "./live/logPage.js";
import { type LiveErrors, longPoll, sendError } from "./live/longPoll.js";
import { callbackShapes } from "./live/storedResponse.js";

export { LiveLog } from "./live/liveLog.js";
export { LiveLogs } from "./live/liveLogs.js";

export interface LiveSettings {
  /** How long `live` and `live/{token}` wait for a response. */
  answerTimeoutMs?: number;
}

const defaultAnswerTimeoutMs = 5_000;

/** What the end of a log is called, and a log that does not exist. */
export const errorsOf: Readonly<Record<LogKind, LiveErrors>> = {
  session: { closed: "SessionClosed", notFound: "SessionNotFound" },
  task: { closed: "TaskClosed", notFound: "TaskNotFound" },
  job: { closed: "JobsClosed", notFound: "JobNotFound" },
  run: { closed: "RunClosed", notFound: "RunNotFound" },
};

/** Where an event stream resumes: the browser's Last-Event-ID takes precedence over the address. */
function afterOf(req: Request, after: number | undefined): number {
  const header = req.get("last-event-id");
  if (header === undefined || header === "") return after ?? 0;
  if (!/^\d{1,15}$/.test(header)) {
    throw PortalError.malformed("LastEventIdMalformed", "Last-Event-ID is not a number of this log");
  }
  return Number(header);
}

/** The ways to read the live logs of a kind. */
export function liveHandlers(kind: LogKind, logs: LiveLogs, settings: LiveSettings = {}) {
  const errors = errorsOf[kind];
  const { answerTimeoutMs = defaultAnswerTimeoutMs } = settings;

  /** One response, or all of them with a token. */
  async function live(res: Response, id: string, token?: string): Promise<void> {
    const log = await logs.open(kind, id);
    if (log) await longPoll(log, token, res, errors, answerTimeoutMs);
    else await sendError(res, errors.notFound);
  }

  async function events(req: Request, res: Response, id: string, after?: number): Promise<void> {
    const from = afterOf(req, after);
    const log = await logs.open(kind, id);
    // An answer that is not an event stream makes a browser stop reconnecting.
    if (!log) return void (await sendError(res, errors.notFound));
    const stream = new EventStream(res);
    await followLog(log, from, stream, ({ n, json }) => `id: ${n}\ndata: ${json}\n\n`);
    stream.end(closedEvent(errors.closed));
  }

  async function responses(res: Response, id: string, limit: number, before?: number): Promise<void> {
    const log = await logs.open(kind, id);
    if (!log) return void (await sendError(res, errors.notFound));
    const page = await readPage(log, limit, before);
    const { after, before: earlier } = page;
    const ends = JSON.stringify({ after, before: earlier }).slice(1);
    // The responses are JSON already.
    res.type("json").send(`{"responses":[${page.responses.map(({ json }) => json).join(",")}],${ends}`);
  }
  return { live, events, responses };
}

const response: JsonSchema = {
  type: "object",
  description: "{callback, …arguments by name}, or {sessionError}, {taskError}, {jobError}",
  // Only examples, because a log may hold responses of another version.
  properties: { callback: { type: "string", examples: Object.keys(callbackShapes) } },
};
const noNegative = { type: "integer", minimum: 0 } as const;
const defaultPageLimit = 200;

/** The ways to read the live logs of a kind, as routes. */
export function liveRoutes(kind: LogKind, logs: LiveLogs, settings?: LiveSettings): Route[] {
  const handlers = liveHandlers(kind, logs, settings);
  const { closed, notFound } = errorsOf[kind];
  const failed = domainError(notFound, closed, "HttpRequestTimeout", "ParallelCallNotSupported");
  const path = `copilot/${kind}/{id}/live` as const;
  return [
    defineRoute({
      path,
      summary: `The next response of a ${kind}; waits up to 5 seconds for it`,
      description: "All callers share one cursor. The unread deltas of a block arrive as one.",
      answers: { json: either(response, failed) },
      handler: ({ params, res }) => handlers.live(res, params.id),
    }),
    defineRoute({
      path: `${path}/{token}`,
      summary: `All responses of a ${kind} that this token has not read; waits up to 5 seconds for one`,
      description: "Each token has its own cursor, which starts at the beginning. Any text can be a token.",
      answers: { json: either(object({ responses: list(response) }), failed) },
      handler: ({ params, res }) => handlers.live(res, params.id, params.token),
    }),
    defineRoute({
      path: `copilot/${kind}/{id}/events`,
      reads: true,
      methods: ["GET"],
      summary: `The responses of a ${kind} as Server-Sent Events`,
      description: "Resumes after Last-Event-ID, or after the number in `after`. The last event is `closed`.",
      query: { after: noNegative },
      answers: { json: domainError(notFound), eventStream: "One response each; `id` is its number." },
      handler: ({ req, res, params, query }) => handlers.events(req, res, params.id, query.after),
    }),
    defineRoute({
      path: `copilot/${kind}/{id}/responses`,
      reads: true,
      methods: ["GET"],
      summary: `The newest responses of a ${kind}, or those before a number, with whole blocks`,
      description:
        "`before` leads to the next earlier page, and `events?after=` goes on after `after`. A block is on the page with its end, an open one on the newest page. A page with huge responses has fewer.",
      query: {
        before: { type: "integer", minimum: 1 },
        limit: { type: "integer", minimum: 1, maximum: 1000, default: defaultPageLimit },
      },
      answers: {
        json: either(
          object({ responses: list(response), after: number, "before?": number }),
          domainError(notFound),
        ),
      },
      handler: ({ res, params, query: { limit = defaultPageLimit, before } }) =>
        handlers.responses(res, params.id, limit, before),
    }),
  ];
}
