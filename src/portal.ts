import { join } from "node:path";
import type { Express } from "express";
import { AcpAgents } from "./acp/client/acpAgents.js";
import { AcpHost } from "./acp/client/acpHost.js";
import { acpSessionRoutes } from "./acp/client/acpSessionRoutes.js";
import { agentRoutes } from "./acp/client/agentRoutes.js";
import { readAgentsFile } from "./acp/client/agentSettings.js";
import { editorRoutes } from "./acp/editorRoutes.js";
import { JobToolServer } from "./acp/jobTools/jobToolServer.js";
import { oneDeeper } from "./acp/nesting.js";
import { healthOf } from "./api/health.js";
import { modelRoutes } from "./api/modelRoutes.js";
import { portalRoutes, withOpenApi } from "./api/portalRoutes.js";
import { createApp } from "./app.js";
import { createCatalog } from "./backends/catalog.js";
import { demoBackend } from "./backends/demoBackend.js";
import { gitHubBackend } from "./backends/github.js";
import { sweepOrphans } from "./backends/orphans.js";
import { knownSecrets, providerBackends, withoutKeys } from "./backends/providers.js";
import { RuntimePool } from "./backends/runtime.js";
import type { Config } from "./config.js";
import { hasRunningSessions, installSessions, sessionRoutes } from "./copilotApi.js";
import { JobEngine } from "./jobs/engine.js";
import { jobRoutes, jobTestRoutes } from "./jobsApi.js";
import { entry as builtInEntry, modelAlternatives } from "./jobsData.js";
import type { Entry } from "./jobsDef.js";
import { hostsOf, localUrlOf } from "./listen.js";
import type { Log } from "./log.js";
import type { Options } from "./options.js";
import { installAgents } from "./orchestrator/portalAgents.js";
import { Approvals } from "./permissions/approvals.js";
import { permissionRoutes } from "./permissions/permissionRoutes.js";
import type { Policy } from "./permissions/policy.js";
import { RuleStore } from "./permissions/ruleStore.js";
import { copilotHost } from "./sessions/copilotHost.js";
import { SessionRecords } from "./sessions/sessionRecord.js";
import { LiveLogs } from "./sharedApi.js";
import type { Shutdown, Stage } from "./shutdown.js";
import { openStore } from "./store/store.js";
import { installTasks, taskRoutes } from "./taskApi.js";
import { InstalledEntry } from "./tasks/installedEntry.js";
import { portalTaskSessions } from "./tasks/portalTaskSessions.js";

export interface Portal {
  app: Express;
  /** What has to be stopped, in this order. */
  stages: readonly Stage[];
  /** Rejects when something the portal cannot live without is not there. */
  ready: Promise<void>;
}

export interface PortalOptions {
  options: Options;
  config: Config;
  /** Instead of the built-in one. */
  entry: Entry | undefined;
  /** Rules that hold besides those in the store. */
  policy: Policy;
  log: Log;
  /** The port that is open. */
  port: number;
  /** Whoever calls must show it, if there is one. */
  token: string | undefined;
  /** Names this portal to the processes it starts. */
  marker: string;
  shutdown: Pick<Shutdown, "stopping" | "stop" | "byUser">;
}

/** Puts the parts together: each gets what it stands on, each adds its routes and how it is stopped. */
export function createPortal(parts: PortalOptions): Portal {
  const { options, config, entry, policy, log, port, token, marker, shutdown } = parts;
  const store = openStore({ dataDir: options.dataDir, log });
  // Only who holds the lock of the data folder may end what an earlier portal left running there.
  sweepOrphans(marker).catch(error => log.warn({ err: error }, "cannot look for left-over processes"));
  const env = withoutKeys(process.env, config.providers);
  const runtimes = new RuntimePool({ env, marker, log, isStopping: () => shutdown.stopping });
  const demo = demoBackend(log);
  const github = gitHubBackend(async () => (await runtimes.use()).client);
  const own = providerBackends(config.providers, process.env);
  const secrets = knownSecrets(config.providers, process.env, token);
  const { PORTAL_TOKEN: _, ...agentEnv } = process.env;
  const acpAgents = new AcpAgents({
    read: () => readAgentsFile(options.configFile, process.env),
    env: { ...agentEnv, ...oneDeeper(process.env) },
    marker,
    secrets,
    log,
  });
  const models = createCatalog({
    backends: [github, ...own, ...(options.demo ? [demo] : []), acpAgents.backend],
    demo,
    log,
  });

  const logs = new LiveLogs(store, log);
  const records = new SessionRecords(store);
  const { timeoutSeconds } = config.permissions ?? {};
  const approvals = new Approvals(new RuleStore(store, policy), timeoutSeconds && timeoutSeconds * 1000);
  const copilot = copilotHost({
    catalog: models,
    runtimes,
    approvals,
    secrets,
    toolOutputDirectory: join(options.dataDir, "tool-output"),
    log,
  });
  const jobTools = new JobToolServer({ url: () => localUrlOf(options.host, port), log });
  const acp = new AcpHost({ agents: acpAgents, approvals, jobTools, log });
  const { permissions } = options;
  const hostOf = (backend: string) => (backend === "acp" ? acp : copilot);
  const sessions = installSessions({ records, catalog: models, hostOf, log, approvals, permissions }, logs);

  const engine = new JobEngine(
    { store, logs, sessions: portalTaskSessions(sessions, store), log, maxTasks: config.maxTasks },
    sessions.recovered,
  );
  const installed = new InstalledEntry({ catalog: models, hasRunningSessions });
  if (entry) installed.use(entry);
  else if (!options.test) installed.use(builtInEntry, modelAlternatives);
  installTasks({ engine, installed });

  const agents = installAgents({
    env: process.env,
    runtimes,
    catalog: models,
    store,
    logs,
    approvals,
    permissions: options.permissions,
    url: () => `http://localhost:${port}`,
    log,
  });

  const routes = [
    ...portalRoutes({
      stop: () => void shutdown.stop(0, true),
      health: () => healthOf({ store, jobs: engine, runtime: runtimes.state() }),
    }),
    ...modelRoutes(models),
    ...sessionRoutes(logs),
    ...permissionRoutes(approvals),
    ...taskRoutes(logs),
    ...jobRoutes({ logs, catalog: models }),
    ...agents.routes,
    ...jobTools.routes(),
    ...agentRoutes({ agents: acpAgents, catalog: models }),
    ...acpSessionRoutes({ agents: acpAgents, host: acp, approvals }),
    ...editorRoutes(),
    ...(options.test ? jobTestRoutes() : []),
  ];
  const app = createApp({
    routes: withOpenApi(routes),
    mcp: agents.mcp,
    log,
    port: () => port,
    token,
    allowedHosts: [...options.allowedHosts, ...hostsOf(options.host, port)],
    stopping: () => shutdown.stopping,
  });
  const stopAgents = () => Promise.all([runtimes.stop(700), acpAgents.close({ exitMs: 700, killMs: 500 })]);
  // Together less than five seconds.
  const stages = [
    { name: "jobs", timeoutMs: 700, stop: () => engine.close({ pause: shutdown.byUser }) },
    { name: "agents", timeoutMs: 300, stop: () => agents.close() },
    { name: "sessions", timeoutMs: 800, stop: () => sessions.suspend() },
    { name: "agent processes", timeoutMs: 1600, stop: stopAgents },
    { name: "demo model", timeoutMs: 100, stop: () => demo.close() },
    { name: "store", timeoutMs: 1200, stop: () => store.close() },
  ];
  return { app, stages, ready: store.ready };
}
