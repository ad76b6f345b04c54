import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { defer, type Scope } from "../cleanup.js";

/** The network between two programs, which can be cut. It passes bytes on as they are, the `Host` header included. */
export interface Relay {
  readonly url: string;
  /** Where it leads to; a node that names the relay as its address has to start first. */
  leadTo(url: string): void;
  /** Breaks every connection, and nobody listens any more. */
  cut(): void;
  mend(): Promise<void>;
  /** From now on no byte passes and no connection ends, as when a machine loses its power. */
  freeze(): void;
  /** From now on every byte and every end waits, as in a network that is slow to find another way. */
  hold(): void;
  letGo(): void;
}

export async function startRelay(t: Scope): Promise<Relay> {
  const sockets = new Set<Socket>();
  let port = 0;
  let isFrozen = false;
  /** What waits, in the order in which it came. */
  let held: (() => void)[] | undefined;
  const pass = (act: () => void) => {
    if (held) held.push(act);
    else act();
  };
  const server = createServer(incoming => {
    const outgoing = connect(port, "127.0.0.1");
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("data", bytes => pass(() => void (isFrozen || to.write(bytes))));
      from.on("close", () => {
        sockets.delete(from);
        // What was sent before arrives first.
        if (!isFrozen) pass(() => to.destroySoon());
      });
    }
  });
  const listen = async (at: number) => {
    server.listen(at, "127.0.0.1");
    await once(server, "listening");
  };
  await listen(0);
  const { port: own } = server.address() as AddressInfo;
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  defer(t, () => {
    held = undefined;
    server.close();
    breakAll();
  });
  return {
    url: `http://127.0.0.1:${own}`,
    leadTo(url) {
      port = Number(new URL(url).port);
    },
    cut() {
      server.close();
      breakAll();
    },
    async mend() {
      isFrozen = false;
      if (!server.listening) await listen(own);
    },
    freeze() {
      isFrozen = true;
    },
    hold() {
      held = [];
    },
    letGo() {
      const waiting = held ?? [];
      held = undefined;
      for (const act of waiting) act();
    },
  };
}
