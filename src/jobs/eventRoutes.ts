import { defineRoute, type Route } from "../api/route.js";
import { PortalError } from "../base/portalError.js";
import { closedEvent, EventStream } from "../live/eventStream.js";
import { followLog } from "../live/follow.js";
import type { FollowStream, StreamsElsewhere, WantedStream } from "../live/joinedStreams.js";
import type { LiveLogs } from "../live/liveLogs.js";
import { errorsOf } from "../sharedApi.js";
import { JobStream } from "./jobStream.js";
import { parseJobCursor } from "./jobStreamCursor.js";

/** More than a browser has tabs. */
const maxStreams = 500;

const bodySchema = {
  type: "object",
  properties: {
    streams: {
      type: "array",
      maxItems: maxStreams,
      items: {
        type: "object",
        properties: {
          name: { type: "string", pattern: "^[\\w-]{1,40}$" },
          kind: { type: "string", enum: ["session", "task", "job", "run", "overview"] },
          id: { type: "string" },
          after: { type: "string", pattern: "^[\\d.:;-]*$" },
          all: { type: "boolean" },
        },
        required: ["name", "kind", "id"],
        additionalProperties: false,
      },
    },
  },
  required: ["streams"],
  additionalProperties: false,
} as const;

/** What is no log but changes too, and has no end. */
export interface FollowedOverview {
  follow(stream: EventStream, mark: string): Promise<void>;
}

/** Checks what is wanted before the stream begins: afterwards nothing can be refused. */
function reader(
  logs: LiveLogs,
  overview: FollowedOverview,
  { name, kind, id, after = "", all = false }: WantedStream,
): FollowStream {
  const mark = `stream: ${name}\n`;
  if (kind === "overview") return stream => overview.follow(stream, mark);
  const errors = errorsOf[kind];
  const isWhole = all && kind === "job";
  const cursor = parseJobCursor(after);
  if (!cursor || (!isWhole && !/^\d{0,15}$/.test(after)))
    throw PortalError.malformed("AfterMalformed", `\`after\` of ${name} is not a place of this log.`);
  return async stream => {
    // No log has such an id, and the store cannot be asked for it.
    const log = id.includes("\0") ? undefined : await logs.open(kind, id);
    if (log && isWhole) await new JobStream(logs, stream, cursor, mark).send(log);
    else if (log)
      await followLog(log, Number(after), stream, ({ n, json }) => `${mark}id: ${n}\ndata: ${json}\n\n`);
    await stream.send(`${mark}${closedEvent(log ? errors.closed : errors.notFound)}`);
  };
}

/** Several logs on one connection: a browser opens only six to a host, however many tabs it has. */
export function eventRoutes(
  logs: LiveLogs,
  overview: FollowedOverview,
  elsewhere?: StreamsElsewhere,
): Route[] {
  return [
    defineRoute({
      path: "copilot/events",
      reads: true,
      methods: ["POST"],
      summary: "Several live logs as one stream of Server-Sent Events",
      description:
        "Each event has a field `stream` with the name of its log; otherwise it is as in `events` of the log, with `after` for where to go on and `all` for everything below a job. A log that does not exist ends at once. `overview` is what `copilot/overview/events` sends.",
      bodySchema,
      answers: { eventStream: "One response each; `stream` says which log, `id` where to go on." },
      handler: async ({ json: { streams }, req, res }) => {
        const here = new Map(streams.map(wanted => [wanted, reader(logs, overview, wanted)]));
        const there = await elsewhere?.(streams, req, wanted => here.get(wanted) ?? (async () => {}));
        const stream = new EventStream(res);
        await Promise.all([...here].map(([wanted, follow]) => (there?.get(wanted) ?? follow)(stream)));
        stream.end("");
      },
    }),
  ];
}
