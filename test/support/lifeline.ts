import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { defer } from "./cleanup.js";

/** A shell command that runs until it is ended, and a way to see its end without polling. */
export interface Lifeline {
  readonly command: string;
  /** Resolves when the command runs. */
  readonly started: Promise<void>;
  /** Resolves when the command and everything that it started has ended. */
  readonly ended: Promise<void>;
  readonly running: boolean;
}

export async function lifeline(t: TestContext): Promise<Lifeline> {
  let running = false;
  let start = () => {};
  let end = () => {};
  const started = new Promise<void>(resolve => {
    start = resolve;
  });
  const ended = new Promise<void>(resolve => {
    end = resolve;
  });
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    running = true;
    start();
    socket.on("error", () => {});
    socket.resume();
    socket.on("close", () => {
      running = false;
      end();
    });
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  defer(t, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  // It also ends when the test, and with it the connection, ends.
  const command = `exec 3<>/dev/tcp/127.0.0.1/${port}; echo up; cat <&3`;
  return {
    command,
    started,
    ended,
    get running() {
      return running;
    },
  };
}
