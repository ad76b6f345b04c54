import { createServer, request as forward } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { defer, type Scope } from "../cleanup.js";

export interface Proxy {
  readonly url: string;
  /** Breaks every connection and accepts no new ones. */
  down(): void;
  up(): void;
}

/** A network between a client and a portal; it can fail. */
export async function startProxy(t: Scope, target: string): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let isDown = false;
  const server = createServer((req, res) => {
    const { host: _, ...headers } = req.headers;
    const url = new URL(req.url ?? "/", target);
    const onward = forward(url, { method: req.method, headers }, answer => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  });
  server.on("connection", socket => {
    if (isDown) return void socket.destroy();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  defer(t, () => {
    server.close();
    breakAll();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    down() {
      isDown = true;
      breakAll();
    },
    up() {
      isDown = false;
    },
  };
}
