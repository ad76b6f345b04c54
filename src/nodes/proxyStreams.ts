import type { IncomingMessage } from "node:http";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { EventStream } from "../live/eventStream.js";
import type { FollowStream, StreamsElsewhere, WantedStream } from "../live/joinedStreams.js";
import type { LiveLogs } from "../live/liveLogs.js";
import { isNodeUnreachable, type NodeProxy, type Peer } from "./proxy.js";
import type { OpenCalls } from "./proxyOpenCalls.js";
import type { Owned, Owners, Wanted } from "./proxyOwners.js";
import { wasSentOn, wayOf } from "./proxyRouting.js";
import type { StoreReading } from "./proxyStoreReading.js";

/** Cuts what arrives into whole events: another log may write to the same reader between two of them. */
export class WholeEvents {
  readonly #decoder = new TextDecoder();
  #rest = "";
  /** How many logs have been sent to their end. */
  closed = 0;

  /** The events that are complete now; may be empty. */
  take(bytes: Uint8Array): string {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    const lastEnd = text.lastIndexOf("\n\n");
    const cut = lastEnd < 0 ? 0 : lastEnd + 2;
    this.#rest = text.slice(cut);
    const whole = text.slice(0, cut);
    this.closed += whole.match(/^event: closed$/gm)?.length ?? 0;
    return whole;
  }
}

export interface JoinedStreamsParts {
  /** The name of this portal. */
  node: string;
  proxy: NodeProxy;
  owners: Pick<Owners, "find">;
  openCalls: Pick<OpenCalls, "begin">;
  logs: Pick<LiveLogs, "refresh" | "inUse">;
  storeReading: StoreReading;
}

interface Found {
  readonly stream: WantedStream;
  readonly wanted: Wanted;
  readonly owned: Owned;
}

/** Reads every log like any other, if its owner is this portal or closed it. */
const reads = { fromStore: true, whenClosed: true };

/** Ends the whole stream: its reader comes back for all logs, from where it is in each. */
const comeBack: FollowStream = async stream => stream.end("");

/** Joins the streams of several portals into one. */
export class JoinedStreams {
  readonly #parts: JoinedStreamsParts;

  constructor(parts: JoinedStreamsParts) {
    this.#parts = parts;
  }

  /** Says for each wanted log how it is read; those that it leaves out are this portal's own. */
  readonly divide: StreamsElsewhere = async (streams, req, readHere) => {
    const others = await this.#others(streams);
    const readers = new Map<WantedStream, FollowStream>();
    const atPeers = new Map<string, { peer: Peer; found: Found[] }>();
    for (const found of others) {
      const { stream, owned } = found;
      const way = wayOf(reads, owned, { node: this.#parts.node, wasSentOn: wasSentOn(req) });
      if (way.to === "sender") readers.set(stream, comeBack);
      else if (way.to === "store") readers.set(stream, this.#fromStore(found, readHere(stream)));
      else if (way.to === "peer") {
        const group = atPeers.get(way.peer.url) ?? { peer: way.peer, found: [] };
        atPeers.set(way.peer.url, group);
        group.found.push(found);
      }
    }
    for (const { peer, found } of atPeers.values()) {
      const readStore = () => found.map(each => this.#fromStore(each, readHere(each.stream)));
      const [first, ...rest] = found.map(({ stream }) => stream);
      // One connection reads all logs of a node.
      if (first) readers.set(first, stream => this.#follow(peer, found, stream, readStore));
      for (const stream of rest) readers.set(stream, async () => {});
    }
    return readers;
  };

  /** The logs that exist and are not being written here. */
  async #others(streams: readonly WantedStream[]): Promise<Found[]> {
    const { owners, logs } = this.#parts;
    const found = await Promise.all(
      streams.map(async (stream): Promise<Found | undefined> => {
        const { kind, id } = stream;
        if (kind === "overview" || logs.inUse(kind, id)?.isOwned) return undefined;
        const wanted: Wanted = { to: kind, id };
        // While the store is away, the stream still has what is in memory here.
        const owned = await owners.find(wanted).catch(() => undefined);
        return owned && owned.owner.at !== "here" ? { stream, wanted, owned } : undefined;
      }),
    );
    return found.filter(each => each !== undefined);
  }

  #fromStore({ wanted, owned }: Found, read: FollowStream): FollowStream {
    const { logs, storeReading } = this.#parts;
    return async stream => {
      await logs.refresh(owned.root.id);
      const stop = storeReading.begin(wanted, owned, () => stream.end(""));
      const unsubscribe = stream.onGone(stop);
      await read(stream).finally(() => {
        stop();
        unsubscribe();
      });
    };
  }

  /** Reads these logs at their owner; from the store when that cannot be reached. */
  async #follow(
    peer: Peer,
    found: readonly Found[],
    stream: EventStream,
    readStore: () => FollowStream[],
  ): Promise<void> {
    const gone = new AbortController();
    const unsubscribe = stream.onGone(() => gone.abort());
    if (stream.isGone) gone.abort();
    const open = found.map(({ owned }) => this.#parts.openCalls.begin(owned.root.id, peer));
    const signal = AbortSignal.any([gone.signal, ...open.map(({ lost }) => lost)]);
    try {
      const body = JSON.stringify({ streams: found.map(each => each.stream) });
      const what = { method: "POST", path: "/api/copilot/events", body, isRepeatable: true };
      const answer = await this.#parts.proxy.open(peer, what, signal);
      if ((await passOn(answer, stream)) < found.length) stream.end("");
    } catch (error) {
      if (gone.signal.aborted) return;
      if (!isNodeUnreachable(error)) throw error;
      await Promise.all(readStore().map(read => read(stream)));
    } finally {
      unsubscribe();
      for (const { end } of open) end();
    }
  }
}

/** Sends what a node answers at the pace of the reader; resolves to how many of its logs were sent to their end. */
async function passOn(answer: IncomingMessage, stream: EventStream): Promise<number> {
  const events = new WholeEvents();
  if (answer.statusCode !== 200) {
    answer.resume();
    return 0;
  }
  const sink = new Writable({
    write(bytes: Buffer, _encoding, done) {
      Promise.resolve(stream.send(events.take(bytes))).then(() => done(), done);
    },
  });
  // A node that dies in between has not sent everything to its end.
  await pipeline(answer, sink).catch(() => undefined);
  return events.closed;
}
