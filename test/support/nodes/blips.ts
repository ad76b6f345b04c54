import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { defer, type Scope } from "../cleanup.js";

/** Where a connection to a database server breaks: no blip costs more than its own connection. */
export type Blip = "before the statement" | "before its answer";

/** The way to a database server, which breaks a connection at each statement. */
export interface Blips {
  readonly port: number;
  /**
   * From now on the connection breaks at each statement: the first time before it, the second time before its answer.
   * The connection that holds the lease, with which all others end, breaks only at renewals, so that the lease is not
   * lost; then nothing breaks until this is called again. Nothing happens while that connection is not back: each
   * statement of an opening would cost the portal a second, and all of them together the lease.
   */
  begin(): void;
  end(): void;
  /** Which statements the connection broke at, in what way. */
  readonly happened: readonly { statement: string; blip: Blip }[];
}

export async function startBlips(t: Scope, serverPort: number): Promise<Blips> {
  const sockets = new Set<Socket>();
  const happened: { statement: string; blip: Blip }[] = [];
  const times = new Map<string, number>();
  /** The connection that holds the lease. */
  let keeper: Socket | undefined;
  let isOn = false;

  function blipAt(statement: string): Blip | undefined {
    if (!isOn) return undefined;
    const time = (times.get(statement) ?? 0) + 1;
    times.set(statement, time);
    const blip = ([undefined, "before the statement", "before its answer"] as const)[time];
    if (blip) happened.push({ statement, blip });
    return blip;
  }

  const server = createServer(portal => {
    const database = connect(serverPort, "127.0.0.1");
    const breakOff = () => {
      if (keeper === portal) {
        keeper = undefined;
        isOn = false;
      }
      portal.destroy();
      database.destroy();
    };
    for (const socket of [portal, database]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        breakOff();
      });
    }
    /** What the transaction has done before. */
    let last = "";
    let isLastAnswer = false;
    const asked = messages(false, (type, body) => {
      const text = textOf(type, body);
      if (text === undefined) return;
      const statement = /^(commit|rollback)$/i.test(text) ? `${text} after ${last}` : text;
      last = text;
      if (/^listen /.test(text)) keeper = portal;
      const isKeeper = keeper === portal;
      const blip = (isKeeper ? isRenewal(text) : isOwn(text)) ? blipAt(statement) : undefined;
      if (blip && isKeeper) isOn = false;
      if (blip === "before the statement") breakOff();
      isLastAnswer = blip === "before its answer";
    });
    const answered = messages(true, type => {
      if (isLastAnswer && type === readyForQuery) breakOff();
    });
    portal.on("data", bytes => {
      asked(bytes);
      database.write(bytes);
    });
    database.on("data", bytes => {
      answered(bytes);
      // An answer comes whole or not at all.
      if (!isLastAnswer) portal.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(t, () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    begin() {
      isOn = keeper !== undefined;
    },
    end() {
      isOn = false;
    },
    happened,
  };
}

const readyForQuery = "Z";

const isRenewal = (text: string) => text.startsWith("update nodes set lease_until");
/** The engine of durable flows has statements of its own, and its own ways to repeat them. */
const isOwn = (text: string) =>
  !/\bdbos\b|^(BEGIN|COMMIT|ROLLBACK)\b|^SELECT (version|table_name)/.test(text);

/** The text of a statement without what differs from time to time: its numbers, and how many rows it has. */
function textOf(type: string, body: Buffer): string | undefined {
  if (type !== "Q" && type !== "P") return undefined;
  const [first = "", second = ""] = body.toString("utf8").split("\0");
  const text = (type === "Q" ? first : second).replace(/\s+/g, " ").trim();
  return text
    .replace(/\bw\d+ as /g, "w as ")
    .replace(/\$\d+/g, "$")
    .replace(/'[^']*'/g, "''")
    .replace(/(\([^()]*\))(?:, \1)+/g, "$1")
    .replace(/(w as \([^()]*\))(?:, \1)+/g, "$1");
}

/** Calls back with each message of the PostgreSQL protocol; the first of a client has no type. */
function messages(isTyped: boolean, take: (type: string, body: Buffer) => void) {
  let rest = Buffer.alloc(0);
  let hasTypes = isTyped;
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const start = hasTypes ? 1 : 0;
      if (rest.length < start + 4) return;
      const end = start + rest.readInt32BE(start);
      if (rest.length < end) return;
      const type = hasTypes ? String.fromCharCode(rest[0] ?? 0) : "";
      const body = rest.subarray(start + 4, end);
      rest = rest.subarray(end);
      hasTypes = true;
      take(type, body);
    }
  };
}
