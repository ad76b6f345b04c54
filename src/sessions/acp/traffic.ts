import { type Fields, fieldsOf, textOf } from "./fields.js";
import type { About, Direction } from "./rpcPeer.js";

/** One message as it went over the wire, without its secrets. */
export interface TrafficRecord {
  at: string;
  direction: Direction;
  message: unknown;
}

interface Seen {
  atMs: number;
  direction: Direction;
  line: string;
}

const maxMessages = 500;
const maxMessageChars = 32 * 1024;
const maxTotalChars = 1024 * 1024;
const censor = "[redacted]";

/** The latest messages of one session, across all its agent processes. */
export class SessionTraffic {
  #seen: Seen[] = [];
  #chars = 0;
  #dropped = 0;

  get seen(): readonly Seen[] {
    return this.#seen;
  }

  /** How many older messages were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  add(...records: readonly Seen[]): void {
    for (const record of records) {
      this.#seen.push(record);
      this.#chars += record.line.length;
    }
    while (this.#seen.length > maxMessages || this.#chars > maxTotalChars) {
      this.#chars -= this.#seen.shift()?.line.length ?? 0;
      this.#dropped++;
    }
  }

  /** Secrets are removed when the traffic is read, not while the agent works. */
  records(secrets: readonly string[]): TrafficRecord[] {
    return this.#seen.map(({ atMs, direction, line }) => ({
      at: new Date(atMs).toISOString(),
      direction,
      message: redacted(line, secrets),
    }));
  }
}

/** The placeholder for a long message. */
function stub({ method, id, params }: Fields, chars: number): string {
  const sessionId = shortOf(fieldsOf(params).sessionId);
  const tooLong = `${chars} characters are not kept`;
  return JSON.stringify({ method: shortOf(method), id: shortOf(id), sessionId, tooLong });
}

function shortOf(value: unknown): string | number | undefined {
  return typeof value === "number" ? value : textOf(value)?.slice(0, 200);
}

/** Removes environments, headers, job tool addresses and every known secret. */
export function redacted(line: string, secrets: readonly string[]): unknown {
  const hidden = secrets.filter(secret => secret.length > 3);
  return JSON.parse(line, (key, value: unknown) => {
    if (key === "env" || key === "headers") return hideValues(value);
    if (typeof value !== "string") return value;
    const text = value.replaceAll(/(\/api\/acp\/mcp\/)[\w-]+/g, `$1${censor}`);
    return hidden.reduce((rest, secret) => rest.replaceAll(secret, censor), text);
  });
}

function hideValues(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(item => ("value" in fieldsOf(item) ? { ...fieldsOf(item), value: censor } : item));
  return Object.fromEntries(Object.keys(fieldsOf(value)).map(name => [name, censor]));
}

const maxHandshake = 10;
const maxGeneral = 50;
const maxUnknownSessions = 20;

/** Sorts a connection's messages by session. Those without a session come first in each. */
export class ConnectionTraffic {
  readonly #handshake: Seen[] = [];
  /** Calls that name no session yet: the answer to `session/new` does. */
  #general: { id: unknown; seen: Seen }[] = [];
  readonly #sessions = new Map<string, SessionTraffic>();
  /** Sessions that are not adopted yet. */
  readonly #early = new Map<string, SessionTraffic>();

  record(direction: Direction, line: string, message: Fields, about: About): void {
    const { id, method, params, result } = message;
    const kept = line.length > maxMessageChars ? stub(message, line.length) : line;
    const seen = { atMs: Date.now(), direction, line: kept };
    if (method === "initialize" || about?.method === "initialize") {
      if (this.#handshake.length < maxHandshake) this.#handshake.push(seen);
      return;
    }
    const named = [params, about?.params, result].map(part => textOf(fieldsOf(part).sessionId)).find(Boolean);
    if (named === undefined) {
      this.#general.push({ id, seen });
      if (this.#general.length > maxGeneral) this.#general.shift();
      return;
    }
    const question =
      about?.method === "session/new" ? this.#general.find(record => record.id === id) : undefined;
    const records = question ? [question.seen, seen] : [seen];
    const known = this.#sessions.get(named);
    if (known) known.add(...records);
    else this.#keepEarly(named, records);
  }

  adopt(agentSessionId: string, traffic: SessionTraffic): void {
    traffic.add(...this.#handshake, ...(this.#early.get(agentSessionId)?.seen ?? []));
    this.#early.delete(agentSessionId);
    this.#sessions.set(agentSessionId, traffic);
  }

  forget(agentSessionId: string): void {
    this.#sessions.delete(agentSessionId);
  }

  #keepEarly(agentSessionId: string, records: Seen[]): void {
    const early = this.#early.get(agentSessionId) ?? new SessionTraffic();
    early.add(...records);
    this.#early.set(agentSessionId, early);
    const [oldest] = this.#early.keys();
    if (this.#early.size > maxUnknownSessions && oldest !== undefined) this.#early.delete(oldest);
  }
}
