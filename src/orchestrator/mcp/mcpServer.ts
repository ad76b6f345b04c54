import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  type LoggingLevel,
  LoggingLevelSchema,
  McpError,
  type ServerNotification,
  SetLevelRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Log } from "../../base/log.js";
import { packageVersion } from "../../base/paths.js";
import type { CallOptions } from "../orchestrator.js";
import type { McpTool } from "./tools.js";

export interface McpServerOptions {
  tools: readonly McpTool[];
  log: Log;
  /** Called when the number of running calls changes. */
  onBusy?: (running: number) => void;
}

const instructions =
  "Agents of this repository as tools. Use run_with_orchestrator for a request in plain words; run_agent when you know which agent should answer; list_agents to see the agents; evaluate_prompt to see how clear a request is and which agents would run.";

/** A protocol server for one client, with its own log level, progress and cancellation. */
export function createMcpServer({ tools, log, onBusy }: McpServerOptions): Server {
  const server = new Server(
    { name: "copilot-os", version: packageVersion },
    { capabilities: { tools: {}, logging: {} }, instructions },
  );
  const byName = new Map(tools.map(tool => [tool.definition.name, tool]));
  const levels = LoggingLevelSchema.options;
  let minLevel: LoggingLevel = "info";
  let running = 0;

  server.onerror = error => log.debug({ err: error }, "MCP transport");
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    minLevel = params.level;
    return {};
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(tool => tool.definition) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = byName.get(params.name);
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, 100)}`);
    // Notifications are sent in order, and all of them before the answer.
    let sent = Promise.resolve();
    const notify = (notification: ServerNotification) => {
      sent = sent
        .then(() => extra.sendNotification(notification))
        .catch(error => log.debug({ err: error }, "a notification was not sent"));
    };
    const progressToken = extra._meta?.progressToken;
    const options: CallOptions = {
      signal: extra.signal,
      onProgress:
        progressToken === undefined
          ? undefined
          : step => notify({ method: "notifications/progress", params: { progressToken, ...step } }),
      onLog: (level, message, data) => {
        if (levels.indexOf(level) < levels.indexOf(minLevel)) return;
        notify({
          method: "notifications/message",
          params: { level, logger: "copilot-os", data: { message, ...data } },
        });
      },
    };
    onBusy?.(++running);
    try {
      const answer = await tool.handle(params.arguments ?? {}, options);
      await sent;
      return answer;
    } finally {
      onBusy?.(--running);
    }
  });
  return server;
}
