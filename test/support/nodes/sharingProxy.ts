import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { defer, type Scope } from "../cleanup.js";

/** What a server answers when a client connects: signed in, ready, no transaction. */
const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
const farewell = "X".charCodeAt(0);
const readyMessage = Buffer.from("Z\0\0\0\x05", "latin1");

/**
 * Lends one session of a server to all its clients, statement by statement, as a proxy with transaction pooling does.
 * It has signed in itself and asks its clients for nothing. Returns its port.
 */
export async function startSharingProxy(t: Scope, { url }: { url: string }): Promise<number> {
  const session = new pg.Client({ connectionString: url });
  session.on("error", () => {});
  await session.connect();
  const { stream } = session.connection;
  // From here on the bytes are the clients'.
  stream.removeAllListeners("data");
  stream.on("error", () => {});
  let turn: Promise<unknown> = Promise.resolve();

  /** Everything until the server is ready for the next statement. */
  function exchange(bytes: Buffer): Promise<Buffer> {
    return new Promise(resolve => {
      let answer = Buffer.alloc(0);
      const take = (part: Buffer) => {
        answer = Buffer.concat([answer, part]);
        if (!answer.subarray(-6, -1).equals(readyMessage)) return;
        stream.off("data", take);
        resolve(answer);
      };
      stream.on("data", take);
      stream.write(bytes);
    });
  }

  const proxy = createServer(client => {
    let isKnown = false;
    client.on("error", () => {});
    client.on("data", bytes => {
      if (!isKnown) client.write(welcome);
      else if (bytes[0] !== farewell)
        turn = turn.then(() => exchange(bytes)).then(answer => client.write(answer));
      isKnown = true;
    });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  defer(t, () => {
    stream.destroy();
    proxy.close();
  });
  return (proxy.address() as AddressInfo).port;
}
