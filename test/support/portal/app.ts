import { request } from "node:http";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import { pino } from "pino";
import type { Route } from "../../../src/api/route.js";
import type { GuardOptions } from "../../../src/guard/guard.js";
import { createApp } from "../../../src/index.js";
import { listen } from "../../../src/server/listen.js";
import { defer } from "../cleanup.js";

export interface RawAnswer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
}

export interface RunningApp {
  readonly url: string;
  readonly port: number;
  /** The lines of the log so far. */
  readonly logLines: readonly Record<string, unknown>[];
  /** Sends a request exactly as given, with headers that no browser and no fetch would send. */
  send(path: string, options?: SendOptions): Promise<RawAnswer>;
  /** Sends bytes that need not be HTTP; resolves with everything that came back. */
  sendBytes(bytes: string): Promise<string>;
}

export interface SendOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
}

/** The Express app with these routes on a real port, without store and agents. */
export async function startApp(
  t: TestContext,
  routes: readonly Route[],
  stopping: () => boolean = () => false,
  guard: Omit<GuardOptions, "port"> = {},
): Promise<RunningApp> {
  const logLines: Record<string, unknown>[] = [];
  const log = pino({ level: "debug" }, { write: line => void logLines.push(JSON.parse(line)) });
  const { server, port } = await listen("127.0.0.1", 0);
  server.on("request", createApp({ routes, log, port: () => port, stopping, ...guard }));
  defer(t, () => server.close().closeAllConnections());
  return {
    url: `http://localhost:${port}`,
    port,
    logLines,
    send: (path, options) => send(port, path, options),
    sendBytes: bytes => sendBytes(port, bytes),
  };
}

/** One request on its own connection; `path` is sent unchanged. */
export function send(port: number, path: string, options: SendOptions = {}): Promise<RawAnswer> {
  const { method = "GET", headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const req = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      agent: false,
      headers: { host: `localhost:${port}`, ...headers },
    });
    req.on("error", reject);
    req.on("response", res => {
      const chunks: Buffer[] = [];
      res.on("data", chunk => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () =>
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          text: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    req.end(body);
  });
}

function sendBytes(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    socket.setEncoding("utf8").on("data", text => {
      answer += text;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}
