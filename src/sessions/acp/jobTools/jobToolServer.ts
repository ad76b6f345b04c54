import { createHash, randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { defineRoute, type Route } from "../../../api/route.js";
import type { Log } from "../../../base/log.js";
import { PortalError } from "../../../base/portalError.js";
import { answerMessage, type JobToolCall, type JobToolObserver, serverName } from "./answerMessage.js";
import { bridgeUrlVariable } from "./bridgeUrl.js";
import { isThisMachine } from "./thisMachine.js";

export interface JobToolServerOptions {
  /** Where a program on this machine finds the portal: `http://127.0.0.1:8888`. */
  url(): string;
  log: Log;
}

/** How one session of an ACP agent reaches the job tools; its address is a secret. */
export interface JobToolAccess {
  /** For an agent that takes MCP servers over HTTP. */
  readonly mcpServer: { type: "http"; name: string; url: string; headers: never[] };
  /** For all others. The address is in the environment, because any user of the machine can read arguments. */
  readonly stdioServer: {
    name: string;
    command: string;
    args: string[];
    env: { name: string; value: string }[];
  };
  /** Resolves when the agent has listed the tools. */
  readonly listed: Promise<void>;
  /** Calls `listener` for each call with valid arguments, before the agent gets its answer. */
  onCall(listener: (call: JobToolCall) => void): void;
  /** The address stops working. */
  close(): void;
}

const tokenBytes = 16;
const bridgeProgram = fileURLToPath(new URL("./bridge.js", import.meta.url));
const methods = ["GET", "POST", "DELETE"] as const;

/** Tokens are looked up by their digest, so that the time of a lookup reveals nothing about a token. */
function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/** The job tools for agents that know MCP but not the portal: one address per session. */
export class JobToolServer {
  readonly #options: JobToolServerOptions;
  readonly #observers = new Map<string, JobToolObserver>();

  constructor(options: JobToolServerOptions) {
    this.#options = options;
  }

  open(sessionId: string): JobToolAccess {
    const { url: portalUrl, log } = this.#options;
    const token = randomBytes(tokenBytes).toString("base64url");
    const digest = digestOf(token);
    const url = `${portalUrl()}/api/acp/mcp/${token}`;
    const listeners: ((call: JobToolCall) => void)[] = [];
    const listed = new Promise<void>(resolve => {
      this.#observers.set(digest, {
        listed: resolve,
        called(call) {
          log.debug({ sessionId, tool: call.name }, "job tool called");
          for (const listener of listeners) listener(call);
        },
      });
    });
    return {
      mcpServer: { type: "http", name: serverName, url, headers: [] },
      stdioServer: {
        name: serverName,
        command: process.execPath,
        args: [bridgeProgram],
        env: [{ name: bridgeUrlVariable, value: url }],
      },
      listed,
      onCall: listener => void listeners.push(listener),
      close: () => void this.#observers.delete(digest),
    };
  }

  routes(): Route[] {
    return [
      defineRoute({
        methods,
        path: "acp/mcp/{token}",
        secretInPath: true,
        summary: "The job tools over MCP, for the ACP agent of one session",
        description:
          "POST takes one JSON-RPC message. There is no stream (GET answers 405) and no session to end.",
        body: "text",
        bodyDescription: "A JSON-RPC 2.0 message of the Model Context Protocol",
        answers: { json: { type: "object", description: "The JSON-RPC response; after DELETE, nothing" } },
        handler: ({ params, body, req, res }) => {
          const observer = this.#observers.get(digestOf(params.token));
          if (!observer || !isThisMachine(req.socket))
            throw PortalError.unknownEndpoint(
              "There are no job tools at this address; its session may have ended",
            );
          if (req.method === "DELETE") return {};
          if (req.method === "GET") {
            res.setHeader("Allow", "POST, DELETE");
            throw PortalError.methodNotAllowed("The job tools have no stream; POST a message");
          }
          const { status, body: answer } = answerMessage(body, observer);
          res.status(status);
          if (answer) res.json(answer);
          else res.end();
          return undefined;
        },
      }),
    ];
  }
}
