import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { keepAliveTimeoutMs } from "../../base/keepAlive.js";
import type { Log } from "../../base/log.js";
import { type ModelRequest, readModelRequest } from "./modelRequest.js";
import { Reply } from "./reply.js";
import type { Pace, Step } from "./steps.js";

/** Chooses the reply from the conversation alone, so that one model serves any number of sessions at once. */
export type Script = (request: ModelRequest) => Step[] | Promise<Step[]>;

/** How an answer ended: all of it was sent, the client hung up first, or the script cut the connection. */
export type ReplyEnd = "sent" | "hungUp" | "cut";

export interface ScriptedModelOptions {
  script: Script;
  apiKey: string;
  models?: readonly string[];
  pace?: Partial<Pace>;
  log?: Log;
  /** JSON answers for further GET paths, or instead of the model list. */
  endpoints?: Readonly<Record<string, unknown>>;
  /** Added to every chat completion. */
  headers?: Record<string, string>;
  /** Called before the script; `end` resolves when the answer is over. */
  onRequest?: (request: ModelRequest, end: Promise<ReplyEnd>) => void;
}

export interface ScriptedServer {
  /** The base URL for a provider's settings: it ends with `/v1`. */
  readonly baseUrl: string;
  readonly origin: string;
  readonly apiKey: string;
  close(): Promise<void>;
}

const defaultPace: Pace = { chunkSize: 16, delayMs: 0 };

/** An OpenAI-compatible model on a free loopback port whose replies come from a script. */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedServer> {
  const server = createServer({ keepAliveTimeout: keepAliveTimeoutMs }, (incoming, response) => {
    handle(options, incoming, response).catch(error => {
      options.log?.error({ err: error }, "The scripted model could not answer");
      // 400, because the runtime retries after a 500.
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, { error: { message: `The script failed: ${error}` } });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: `${origin}/v1`,
    origin,
    apiKey: options.apiKey,
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function handle(
  options: ScriptedModelOptions,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const authorization = incoming.headers.authorization?.replace(/^(bearer|token) /i, "");
  if (authorization !== options.apiKey) {
    sendJson(response, 401, { error: { message: "The API key is wrong" } });
    return;
  }
  // GitHub's own API has no /v1, a provider's base URL usually does.
  const path = new URL(incoming.url ?? "/", "http://model").pathname.replace(/^\/v1(?=\/)/, "");
  if (incoming.method === "POST" && path === "/chat/completions") {
    await complete(options, incoming, response);
    return;
  }
  const endpoints: Record<string, unknown> = {
    "/models": modelList(options.models ?? []),
    ...options.endpoints,
  };
  if (incoming.method === "GET" && Object.hasOwn(endpoints, path)) sendJson(response, 200, endpoints[path]);
  else sendJson(response, 404, { error: { message: `There is no ${incoming.method} ${path}` } });
}

async function complete(
  options: ScriptedModelOptions,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const closed = new AbortController();
  let reply: Reply | undefined;
  const end = new Promise<ReplyEnd>(resolve => {
    response.once("close", () => {
      closed.abort();
      resolve(reply?.cut ? "cut" : response.writableFinished ? "sent" : "hungUp");
    });
  });
  const request = readModelRequest(await readText(incoming), incoming.headers);
  options.onRequest?.(request, end);
  const steps = await options.script(request);
  const pace = { ...defaultPace, ...options.pace };
  for (const [name, value] of Object.entries(options.headers ?? {})) response.setHeader(name, value);
  reply = new Reply(request, response, pace, closed.signal);
  await reply.play(steps);
}

function modelList(models: readonly string[]): unknown {
  return { object: "list", data: models.map(id => ({ id, object: "model", owned_by: "scripted" })) };
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
