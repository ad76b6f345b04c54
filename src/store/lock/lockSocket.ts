import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

/** A socket in the data folder that answers as long as this process lives, even to other containers. */
export interface LockSocket {
  readonly name: string;
  close(): void;
}

/**
 * `answers`: its process lives and works. `silent`: a process has it open but says nothing: it is stopped, busy or
 * dying. `closed`: its process is gone. `missing`: the file does not exist, so the state is unknown.
 */
export type Answer = "answers" | "silent" | "closed" | "missing";

/** A process that is not stuck answers within a few milliseconds. */
const answerTimeoutMs = 300;

/** The path of a socket may have 107 bytes; the folder's own path may be longer, but its descriptor's path never is. */
function withShortPath<T>(folder: string, name: string, use: (path: string) => T): T {
  const descriptor = openSync(folder, "r");
  try {
    return use(join("/proc/self/fd", String(descriptor), name));
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined on a system or a file system without such sockets: the lock then relies on the process id alone. */
export async function openLockSocket(folder: string): Promise<LockSocket | undefined> {
  if (process.platform !== "linux") return undefined;
  const name = `portal-${randomBytes(6).toString("hex")}.sock`;
  const server = createServer(asking => {
    asking.on("error", () => undefined);
    asking.end("held\n");
  });
  try {
    const listening = once(server, "listening");
    // The socket is bound before `listen` returns, so the descriptor need not stay open.
    withShortPath(folder, name, path => server.listen(path));
    await listening;
    chmodSync(join(folder, name), 0o600);
  } catch {
    return undefined;
  }
  server.unref();
  return { name, close: () => close(server, join(folder, name)) };
}

function close(server: Server, path: string): void {
  server.close();
  rmSync(path, { force: true });
}

export function removeSocket(folder: string, name: string): void {
  rmSync(join(folder, name), { force: true });
}

/** Asks the socket of a lock whether its process lives. */
export async function askSocket(folder: string, name: string): Promise<Answer> {
  if (!existsSync(join(folder, name))) return "missing";
  return new Promise(resolve => {
    const socket = withShortPath(folder, name, path => connect(path));
    const settle = (answer: Answer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle("silent"), answerTimeoutMs);
    socket.on("data", () => settle("answers"));
    // Its process died while we waited for its answer.
    socket.on("end", () => settle("silent"));
    socket.on("error", error => {
      const { code } = error as NodeJS.ErrnoException;
      settle(code === "ECONNREFUSED" ? "closed" : code === "ENOENT" ? "missing" : "silent");
    });
  });
}
