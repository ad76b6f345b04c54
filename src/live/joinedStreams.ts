import type { Request } from "express";
import type { EventStream } from "./eventStream.js";
import type { LogKind } from "./liveResponse.js";

/** One log that a reader wants, by a name of the reader's own. */
export interface WantedStream {
  readonly name: string;
  readonly kind: LogKind | "overview";
  readonly id: string;
  readonly after?: string;
  readonly all?: boolean;
}

/** Sends a log, or several, until each is closed or the client has gone. */
export type FollowStream = (stream: EventStream) => Promise<void>;

/** How the logs are read that other portals on the same store write; `readHere` reads one as if it were this one's. */
export type StreamsElsewhere = (
  wanted: readonly WantedStream[],
  req: Request,
  readHere: (wanted: WantedStream) => FollowStream,
) => Promise<ReadonlyMap<WantedStream, FollowStream>>;
