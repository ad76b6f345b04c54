import type { RequestHandler } from "express";
import type { Route } from "../api/route.js";
import type { ModelCatalog } from "../backends/catalog.js";
import type { Log } from "../base/log.js";
import { repoRoot } from "../base/paths.js";
import { StartError } from "../base/startError.js";
import { whereaboutsIn } from "../nodes/whereabouts.js";
import type { Approvals, PermissionPolicy } from "../permissions/approvals.js";
import type { StartupGate } from "../permissions/startup/startupGate.js";
import type { RuntimeSource } from "../sessions/copilot/copilotHost.js";
import type { SessionHost } from "../sessions/sessionHost.js";
import type { LiveLogs } from "../sharedApi.js";
import type { Store } from "../store/store.js";
import { agentRoutes } from "./agentRoutes.js";
import { type CreateOptions, createOrchestrator } from "./createOrchestrator.js";
import { jobTools } from "./mcp/jobsAsTools.js";
import { ConfigError, type OrchestratorConfig, readOrchestratorConfig } from "./orchestratorConfig.js";
import { systemClock } from "./run/agentRunner.js";
import { AgentRuns } from "./run/agentRuns.js";
import { askUser } from "./run/askUser.js";
import { catalogModels } from "./run/catalogModels.js";
import { Repositories } from "./run/repositories.js";

export interface PortalAgentsParts {
  env: Readonly<Record<string, string | undefined>>;
  runtimes: RuntimeSource;
  hostOf(backend: string): SessionHost;
  startup: StartupGate;
  /** Whether the agents run in the repository's sandbox. */
  sandbox: boolean;
  catalog: ModelCatalog;
  store: Store;
  logs: LiveLogs;
  approvals: Approvals;
  /** Replaces AGENT_PERMISSIONS, unless it is `allow-all`. */
  permissions: PermissionPolicy;
  /** The address of the portal. */
  url(): string;
  log: Log;
}

export interface PortalAgents {
  /** The handler of `/mcp`. */
  mcp: RequestHandler;
  routes: Route[];
  close(): Promise<void>;
}

/** These variables configure the standalone program; the portal has its own log, port, guard and models. */
const notOurs = /^(?:LOG_LEVEL|MCP_TRANSPORT|MCP_HTTP_.*|MCP_ALLOWED_.*|COPILOT_PROVIDER_.*)$/;

export function portalConfig(env: PortalAgentsParts["env"]): OrchestratorConfig {
  const ours = Object.entries(env).filter(([name]) => !notOurs.test(name));
  try {
    return readOrchestratorConfig(Object.fromEntries(ours), repoRoot);
  } catch (error) {
    throw error instanceof ConfigError ? new StartError(error.message) : error;
  }
}

/** The orchestrator inside the portal: on its runtime and its models, behind its guard. */
export function installAgents(parts: PortalAgentsParts): PortalAgents {
  const { runtimes, sandbox, catalog, store, logs, approvals, permissions, url, log } = parts;
  const { hostOf, startup } = parts;
  const config = portalConfig(parts.env);
  const optionsOf = (of: OrchestratorConfig, chosen?: string): CreateOptions => ({
    config: of,
    log,
    // Availability is asked of the same runtime that runs the agents.
    runtimes: {
      use: () => runtimes.use(sandbox ? of.repoRoot : undefined, of.repoRoot),
      running: sandboxed => runtimes.running(sandboxed),
    },
    sessions: { hostOf, startup, sandbox, models: catalogModels(catalog, of, chosen) },
    permissionHandler: askUser({ approvals, permissions, repoRoot: of.repoRoot }),
  });
  const module = createOrchestrator({
    ...optionsOf(config),
    record: (prompt, options, work) => runs.record(prompt, options, work),
    moreTools: () => (config.exposeJobs ? jobTools({ clock: systemClock, log, logs, url }) : []),
  });
  const { repoRoot: root } = config;
  const repositories = new Repositories({
    repoRoot: root,
    own: module,
    catalog,
    open(folder, model) {
      // The user let the agents of the settings start programs, not those of any other repository.
      const allowAgentMcpServers = folder === root && config.allowAgentMcpServers;
      return createOrchestrator(optionsOf({ ...config, repoRoot: folder, allowAgentMcpServers }, model));
    },
  });
  const runs = new AgentRuns({ store, logs, own: repositories.own, log });
  return {
    mcp: module.httpRouter().router,
    routes: agentRoutes({ repositories, runs, logs, whereabouts: whereaboutsIn(store) }),
    async close() {
      await repositories.close();
      await runs.settled();
    },
  };
}
