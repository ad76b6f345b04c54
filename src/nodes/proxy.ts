import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";

/** Another portal on the same store. */
export interface Peer {
  readonly name: string;
  /** Where this portal reaches it: `http://HOST:PORT`. */
  readonly url: string;
}

/** A request that the guard of this portal has let through, as the other one gets it. */
export interface Forwardable {
  readonly method: string;
  /** Exactly as it came, with its query. */
  readonly path: string;
  readonly lastEventId?: string | undefined;
  /** The guard has read it already, because it holds the limit. */
  readonly body: string | Buffer;
  /** Doing it twice is the same as doing it once. */
  readonly isRepeatable: boolean;
}

export interface ProxyOptions {
  /** The name of this portal. */
  node: string;
  /** What all portals on the store accept; undefined when they need none. */
  token: string | undefined;
  connectTimeoutMs?: number;
  /** An event stream without any byte for this long belongs to a node that is gone. */
  silenceMs?: number;
}

/** Names the node that sent a request on, so that nobody sends it on again. */
export const hopHeader = "x-portal-hop";

/** The status of a node that was asked for something which a third one owns. */
export const misdirected = 421;

/** A node in the same network answers within milliseconds. */
const defaultConnectTimeoutMs = 2_000;
/** Three of its heartbeats. */
const defaultSilenceMs = 45_000;
const maxFreeSockets = 64;
/** A shorter answer comes in one piece, head and body; a longer one, and every stream, as it arrives. */
const maxWholeBytes = 64 * 1024;

/** They belong to one connection, or to one portal and its browser. */
const notPassedOn = new Set([
  "connection",
  "date",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "www-authenticate",
]);

/** The headers of an answer that its reader gets: all but those that belong to the connection. */
export function passedOn(headers: NodeJS.Dict<string | string[]>): [string, string | string[]][] {
  const named = String(headers.connection ?? "")
    .toLowerCase()
    .split(",")
    .map(name => name.trim());
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || notPassedOn.has(name) || named.includes(name) ? [] : [[name, value]],
  );
}

/** The cause of a failure after which nobody here knows what the other node has done. */
class BrokenOff extends Error {}

/** The other node cannot be reached: it has not heard of the request. */
export function nodeUnreachable({ name }: Peer, reason: string): PortalError {
  return PortalError.unavailable(
    "NodeUnreachable",
    `The node ${name} cannot be reached from here: ${reason}`,
  );
}

/** The connection broke after the request was sent and before the other node answered. */
function brokenOff({ name }: Peer, reason: string, isRepeatable: boolean): PortalError {
  const doubt = isRepeatable
    ? ""
    : ". What was asked for may or may not have happened: look before you ask again";
  return PortalError.unavailable(
    "NodeUnreachable",
    `The connection to the node ${name} broke before it answered: ${reason}${doubt}`,
    new BrokenOff(reason),
  );
}

export function isNodeUnreachable(error: unknown): boolean {
  return error instanceof PortalError && error.code === "NodeUnreachable";
}

/** Whether the other node may have done what it was asked for. */
export function isBrokenOff(error: unknown): boolean {
  return isNodeUnreachable(error) && (error as Error).cause instanceof BrokenOff;
}

/** The address of a node for a socket, and its name for the `Host` header. */
interface Place {
  readonly host: string;
  readonly port: string;
  readonly name: string;
}

function placeIn(url: string): Place {
  const { hostname, port, host: name } = new URL(url);
  // An IPv6 address has brackets in a URL and none in a socket.
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port || "80", name };
}

/** The body of an answer, which is of no use in part. */
function whole(answer: IncomingMessage, peer: Peer, { isRepeatable }: Forwardable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const broken = (error?: Error) =>
      reject(brokenOff(peer, error ? messageOf(error) : "the answer is incomplete", isRepeatable));
    answer.on("data", chunk => chunks.push(chunk));
    answer.once("end", () => resolve(Buffer.concat(chunks)));
    answer.once("error", broken);
    answer.once("close", () => broken());
  });
}

/** Sends requests on to other nodes. What a caller showed to the guard stays here: the other node sees the token. */
export class NodeProxy {
  readonly #options: ProxyOptions;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets });
  readonly #places = new Map<string, Place>();

  constructor(options: ProxyOptions) {
    this.#options = options;
  }

  /**
   * Answers with what the other node answers, or returns `misdirected` when that does not own it any more. `lost` says
   * that nothing more will come from there.
   */
  async forward(
    peer: Peer,
    what: Forwardable,
    res: ServerResponse,
    lost?: AbortSignal,
  ): Promise<"answered" | "misdirected"> {
    const gone = new AbortController();
    const end = () => gone.abort();
    res.once("close", end);
    lost?.addEventListener("abort", end, { once: true });
    if (res.destroyed || lost?.aborted) end();
    try {
      const answer = await this.open(peer, what, gone.signal);
      if (answer.statusCode === misdirected) {
        answer.resume();
        return "misdirected";
      }
      res.statusCode = answer.statusCode ?? 502;
      const isShort = Number(answer.headers["content-length"]) <= maxWholeBytes;
      const body = isShort ? await whole(answer, peer, what) : undefined;
      for (const [name, value] of passedOn(answer.headers)) res.setHeader(name, value);
      if (body) res.end(body);
      else {
        // The first event of a stream may be far away.
        res.flushHeaders();
        // Whichever side hangs up, the other one hears of it: there is nobody else to tell.
        await pipeline(answer, res).catch(() => undefined);
      }
      return "answered";
    } catch (error) {
      if (res.destroyed) return "answered";
      throw error;
    } finally {
      res.off("close", end);
      lost?.removeEventListener("abort", end);
    }
  }

  /** The answer of the other node, from its head on. Rejects with `NodeUnreachable` when there is none. */
  async open(peer: Peer, what: Forwardable, signal: AbortSignal): Promise<IncomingMessage> {
    const first = await this.#ask(peer, what, signal);
    // A connection that was kept may have been closed while the request was on its way.
    const { answer: given, isSent } = first.isStale ? await this.#ask(peer, what, signal) : first;
    if (given instanceof Error) {
      const reason = signal.aborted ? "the node is gone" : messageOf(given);
      throw isSent ? brokenOff(peer, reason, what.isRepeatable) : nodeUnreachable(peer, reason);
    }
    if (given.statusCode === 401 || given.statusCode === 403) {
      given.resume();
      throw nodeUnreachable(peer, "it refuses this node. All nodes need the same PORTAL_TOKEN");
    }
    this.#endWhenSilent(given);
    return given;
  }

  close(): void {
    this.#agent.destroy();
  }

  #ask(
    peer: Peer,
    what: Forwardable,
    signal: AbortSignal,
  ): Promise<{ answer: IncomingMessage | Error; isStale: boolean; isSent: boolean }> {
    return new Promise(resolve => {
      const outgoing = this.#send(peer, what, signal);
      let isSent = false;
      const sent = () => {
        isSent = true;
      };
      outgoing.once("socket", socket => (socket.connecting ? socket.once("connect", sent) : sent()));
      outgoing.once("response", answer => resolve({ answer, isStale: false, isSent }));
      // Stays, because a request that is given up after its answer began fails once more.
      outgoing.on("error", error => {
        const isStale = outgoing.reusedSocket && what.isRepeatable && !signal.aborted;
        resolve({ answer: error, isStale, isSent });
      });
      outgoing.end(what.body);
    });
  }

  #send({ url }: Peer, what: Forwardable, signal: AbortSignal): ClientRequest {
    const { method, path, lastEventId, body } = what;
    const { node, token, connectTimeoutMs = defaultConnectTimeoutMs } = this.#options;
    const { name, ...place } = this.#placeOf(url);
    const outgoing = request({
      agent: this.#agent,
      ...place,
      method,
      // Not resolved against the URL: a path that begins with two slashes would name another host.
      path,
      headers: {
        host: name,
        [hopHeader]: node,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
        ...(body.length > 0 && { "content-type": "text/plain; charset=utf-8" }),
        "content-length": Buffer.byteLength(body),
      },
      signal,
    });
    outgoing.once("socket", socket => {
      if (!socket.connecting) return;
      const late = () => outgoing.destroy(new Error(`no connection within ${connectTimeoutMs} ms`));
      const timer = setTimeout(late, connectTimeoutMs);
      for (const event of ["connect", "close"]) socket.once(event, () => clearTimeout(timer));
    });
    return outgoing;
  }

  /** Nodes come and go rarely, and each call would read the same address again. */
  #placeOf(url: string): Place {
    const known = this.#places.get(url) ?? placeIn(url);
    this.#places.set(url, known);
    return known;
  }

  /** A machine that lost its power says nothing more. Other answers may take as long as the work does. */
  #endWhenSilent(answer: IncomingMessage): void {
    if (!answer.headers["content-type"]?.startsWith("text/event-stream")) return;
    const { silenceMs = defaultSilenceMs } = this.#options;
    const { socket } = answer;
    const onSilence = () => {
      // A slow reader silences it too.
      if (answer.isPaused()) socket.setTimeout(silenceMs);
      else answer.destroy(new Error("the node is silent"));
    };
    socket.setTimeout(silenceMs).on("timeout", onSilence);
    answer.once("close", () => socket.setTimeout(0).off("timeout", onSilence));
  }
}
