import { randomUUID } from "node:crypto";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import { readTextBody } from "../../base/body.js";
import { JsonError, parseJson } from "../../base/json.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { RecentEvents } from "./eventStore.js";

export interface HttpRouterOptions {
  /** Decides who may call before the body is read; absent when the host's guard has decided already. */
  guard?: RequestHandler[];
  createServer(onBusy: (running: number) => void): Server;
  log: Log;
  nowMs(): number;
  maxSessions?: number;
  idleTimeoutMs?: number;
}

export interface McpRouter {
  router: Router;
  /** Ends every session and its runs. */
  close(): Promise<void>;
  readonly sessionCount: number;
}

interface HttpSession {
  transport: StreamableHTTPServerTransport;
  server: Server;
  running: number;
  openStreams: number;
  lastUsedMs: number;
}

const defaultMaxSessions = 100;
const defaultIdleTimeoutMs = 30 * 60_000;
const expireCheckMs = 60_000;

/** JSON-RPC has no codes for these; −32000 and below belong to the server. */
const rpc = { refused: -32000, noSession: -32001, parseError: -32700 };

function answer(res: Response, status: number, code: number, message: string): void {
  res.status(status).json({ jsonrpc: "2.0", error: { code, message }, id: null });
}

/** Answers the guard's refusal as a JSON-RPC error. */
const answerRefusal: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (!(error instanceof PortalError)) return next(error);
  answer(res, error.status, rpc.refused, error.message);
};

/** What is wrong with the headers of a POST, as status and message. */
function headerProblem(req: Request): readonly [number, string] | undefined {
  const { accept = "", "content-type": type = "" } = req.headers;
  if (!/^application\/json\s*(?:;|$)/i.test(type)) return [415, "Content-Type must be application/json"];
  if (!accept.includes("application/json") || !accept.includes("text/event-stream"))
    return [406, "Accept must list application/json and text/event-stream"];
  return undefined;
}

/** MCP over streamable HTTP: one endpoint, one protocol server for each session. */
export function createHttpRouter(options: HttpRouterOptions): McpRouter {
  const {
    guard = [],
    log,
    nowMs,
    maxSessions = defaultMaxSessions,
    idleTimeoutMs = defaultIdleTimeoutMs,
  } = options;
  const sessions = new Map<string, HttpSession>();

  function expire(): void {
    for (const session of sessions.values()) {
      const idle = session.running === 0 && session.openStreams === 0;
      if (idle && nowMs() - session.lastUsedMs >= idleTimeoutMs) void session.server.close();
    }
  }
  const timer = setInterval(expire, expireCheckMs).unref();

  async function startSession(): Promise<HttpSession> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new RecentEvents(nowMs),
      onsessioninitialized: id => void sessions.set(id, session),
    });
    const server = options.createServer(running => {
      session.running = running;
      session.lastUsedMs = nowMs();
    });
    const session: HttpSession = { transport, server, running: 0, openStreams: 0, lastUsedMs: nowMs() };
    server.onclose = () => void sessions.delete(transport.sessionId ?? "");
    await server.connect(transport as Parameters<Server["connect"]>[0]);
    return session;
  }

  /** The session of a request, or undefined when it has been answered. */
  async function sessionOf(req: Request, res: Response, body: unknown): Promise<HttpSession | undefined> {
    const id = req.headers["mcp-session-id"];
    if (id !== undefined) {
      const known = sessions.get(String(id));
      if (!known) answer(res, 404, rpc.noSession, "Session not found");
      return known;
    }
    if (!isInitializeRequest(body)) {
      answer(res, 400, rpc.refused, "Mcp-Session-Id header is required");
      return undefined;
    }
    expire();
    if (sessions.size >= maxSessions) {
      answer(res, 503, rpc.refused, `There are ${maxSessions} sessions already`);
      return undefined;
    }
    return startSession();
  }

  async function readJson(req: Request, res: Response): Promise<{ value: unknown } | undefined> {
    try {
      return { value: parseJson(await readTextBody(req)) };
    } catch (error) {
      const tooLarge = error instanceof PortalError && error.status === 413;
      if (tooLarge) answer(res, 413, rpc.refused, error.message);
      else if (error instanceof JsonError && error.problem !== "not-json")
        answer(res, 400, rpc.refused, error.message);
      else answer(res, 400, rpc.parseError, "Parse error: the body is not JSON");
      return undefined;
    }
  }

  async function handle(req: Request, res: Response): Promise<void> {
    if (!["GET", "POST", "DELETE"].includes(req.method)) {
      res.setHeader("Allow", "GET, POST, DELETE");
      return answer(res, 405, rpc.refused, "Method not allowed");
    }
    const problem = req.method === "POST" ? headerProblem(req) : undefined;
    if (problem) return answer(res, problem[0], rpc.refused, problem[1]);
    const body = req.method === "POST" ? await readJson(req, res) : { value: undefined };
    if (!body) return;
    const session = await sessionOf(req, res, body.value);
    if (!session) return;
    session.lastUsedMs = nowMs();
    if (req.method === "GET") {
      session.openStreams++;
      res.once("close", () => {
        session.openStreams--;
        session.lastUsedMs = nowMs();
      });
    }
    await session.transport.handleRequest(req, res, body.value);
  }

  const router = Router();
  if (guard.length > 0) router.use(...guard, answerRefusal);
  router.use((req, res, next) => {
    handle(req, res).catch(error => {
      log.error({ err: error }, "MCP request failed");
      if (res.headersSent) res.destroy();
      else next(error);
    });
  });
  return {
    router,
    async close() {
      clearInterval(timer);
      await Promise.all([...sessions.values()].map(session => session.server.close()));
    },
    get sessionCount() {
      return sessions.size;
    },
  };
}
