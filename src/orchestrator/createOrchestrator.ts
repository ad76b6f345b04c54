import type { CopilotClient } from "@github/copilot-sdk";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Log } from "../base/log.js";
import { createProgramGuard, type ProgramGuardOptions } from "../guard/guard.js";
import { copilotHost, type RuntimeSource } from "../sessions/copilot/copilotHost.js";
import { AgentFolder } from "./agents/agentFolder.js";
import { createHttpRouter, type McpRouter } from "./mcp/httpRouter.js";
import { createMcpServer } from "./mcp/mcpServer.js";
import { type McpTool, orchestratorTools, type RecordRun } from "./mcp/tools.js";
import { Orchestrator } from "./orchestrator.js";
import type { OrchestratorConfig } from "./orchestratorConfig.js";
import { evaluate, suggestRefinement } from "./prompt/evaluator.js";
import { extractKeywords } from "./prompt/keywords.js";
import { AgentRunner, type Clock, type Invoker, systemClock } from "./run/agentRunner.js";
import { configuredModels } from "./run/configuredModels.js";
import type { ModelSource } from "./run/models.js";
import { type OwnRuntimes, ownRuntimes } from "./run/ownRuntimes.js";
import { type AgentPermissionHandler, type InvokerOptions, SessionInvoker } from "./run/sessionInvoker.js";

export interface CreateOptions {
  config: OrchestratorConfig;
  log: Log;
  /** The host's client; the orchestrator never stops it. */
  copilotClient?: CopilotClient;
  /** The host's runtimes, which it replaces when they die. Without any of these three the orchestrator has its own. */
  runtimes?: RuntimeSource;
  /** Runs agents instead of the Copilot runtime. */
  invoker?: Invoker;
  /** The host's own sessions and models; without them agents run on the Copilot runtime and the configured model. */
  sessions?: Pick<InvokerOptions, "hostOf" | "sandbox" | "startup"> & { models: ModelSource };
  /** Replaces AGENT_PERMISSIONS, for a host that asks a person. */
  permissionHandler?: AgentPermissionHandler | undefined;
  clock?: Clock;
  /** For a host that keeps the runs of MCP clients in a history. */
  record?: RecordRun;
  /** Additional tools on the same dispatcher. */
  moreTools?: () => readonly McpTool[];
}

/** The orchestrator never stops a host's runtimes. */
function runtimesOf({ copilotClient, runtimes, config, log }: CreateOptions): OwnRuntimes {
  const stop = async () => {};
  if (runtimes)
    return {
      use: sandboxed => runtimes.use(sandboxed),
      running: sandboxed => runtimes.running(sandboxed),
      stop,
    };
  if (!copilotClient) return ownRuntimes(config.repoRoot, log);
  return {
    async use() {
      await copilotClient.start();
      return { client: copilotClient, attach: () => {}, retire: () => {} };
    },
    running: async () => undefined,
    stop,
  };
}

function ownSessions(config: OrchestratorConfig, runtimes: RuntimeSource, log: Log) {
  // The catalog is empty, because each session names its own target.
  const host = copilotHost({ catalog: { find: async () => undefined }, runtimes, secrets: [], log });
  return { hostOf: () => host, models: configuredModels(config, runtimes, log), sandbox: false };
}

/** The invoker of the agents, and how to end what it runs on. */
function invokerOf(options: CreateOptions): { invoker: Invoker; close(): Promise<void> } {
  const { config, log, permissionHandler } = options;
  if (options.invoker) return { invoker: options.invoker, close: async () => {} };
  const runtimes = runtimesOf(options);
  const sessions = options.sessions ?? ownSessions(config, runtimes, log);
  const invoker = new SessionInvoker({ config, log, runtimes, permissionHandler, ...sessions });
  return {
    invoker,
    async close() {
      await invoker.close();
      await runtimes.stop();
    },
  };
}

/** Assembles the module for one repository. Several can exist side by side. */
export function createOrchestrator(options: CreateOptions) {
  const { config, log, clock = systemClock } = options;
  const folder = new AgentFolder({
    repoRoot: config.repoRoot,
    allowMcpServers: config.allowAgentMcpServers,
    log,
    nowMs: () => clock.monotonicMs(),
  });
  const { invoker, close: closeInvoker } = invokerOf(options);
  const runner = new AgentRunner(config, invoker, clock);
  const orchestrator = new Orchestrator({ config, runner, clock, agents: () => folder.current() });
  const tools = [
    ...orchestratorTools(orchestrator, config, { clock, log, record: options.record }),
    ...(options.moreTools?.() ?? []),
  ];
  const servers = new Set<ReturnType<typeof createMcpServer>>();
  const routers: McpRouter[] = [];
  let closing: Promise<void> | undefined;

  function newServer() {
    const server = createMcpServer({ tools, log });
    servers.add(server);
    server.onclose = () => void servers.delete(server);
    return server;
  }

  void folder.current().then(
    ({ registry }) => {
      const { defaultAgent } = config;
      if (
        defaultAgent &&
        !registry.all().some(({ name }) => name.toLowerCase() === defaultAgent.toLowerCase())
      )
        log.warn({ defaultAgent }, "DEFAULT_AGENT names no agent");
    },
    error => log.error({ err: error }, "cannot read the agent files"),
  );

  return {
    /** The agents of the last look; `current()` looks again. */
    registry: {
      current: () => folder.current(),
      add: folder.add.bind(folder),
      get: (name: string) => folder.snapshot.registry.get(name),
      all: () => folder.snapshot.registry.all(),
      matchKeywords: (keywords: readonly string[], maxResults: number) =>
        folder.snapshot.registry.matchKeywords(keywords, maxResults),
    },
    evaluator: {
      evaluate,
      extractKeywords,
      suggestRefinement: (prompt: string) => suggestRefinement(prompt),
    },
    invoker,
    orchestrator,
    createMcpServer: newServer,
    /** Omit `access` when the host's guard protects it already. */
    httpRouter(access?: ProgramGuardOptions): McpRouter {
      const nowMs = () => clock.monotonicMs();
      const router = createHttpRouter({
        ...(access && { guard: createProgramGuard(access) }),
        createServer: onBusy => createMcpServer({ tools, log, onBusy }),
        log,
        nowMs,
      });
      routers.push(router);
      return router;
    },
    /** Speaks MCP on stdin and stdout. */
    async serveStdio(): Promise<void> {
      await newServer().connect(new StdioServerTransport());
    },
    /** Ends everything in flight. A second call does nothing. */
    close(): Promise<void> {
      closing ??= (async () => {
        folder.close();
        await Promise.all(routers.map(router => router.close()));
        await Promise.all([...servers].map(server => server.close()));
        await closeInvoker();
      })();
      return closing;
    },
  };
}

export type OrchestratorModule = ReturnType<typeof createOrchestrator>;
