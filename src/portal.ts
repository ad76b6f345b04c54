import { join } from "node:path";
import type { Express } from "express";
import { healthOf } from "./api/health.js";
import { modelRoutes } from "./api/modelRoutes.js";
import { portalRoutes, withOpenApi } from "./api/portalRoutes.js";
import { createApp } from "./app.js";
import { createCatalog } from "./backends/catalog.js";
import { demoBackend } from "./backends/demoBackend.js";
import { gitHubBackend } from "./backends/github.js";
import { sweepOrphans } from "./backends/orphans.js";
import { providerBackends, withoutKeys } from "./backends/providers.js";
import { RuntimePool } from "./backends/runtime.js";
import type { Config } from "./config.js";
import { installSessions, sessionRoutes } from "./copilotApi.js";
import type { Log } from "./log.js";
import type { Options } from "./options.js";
import { SessionRecords } from "./sessions/sessionRecord.js";
import { LiveLogs } from "./sharedApi.js";
import type { Shutdown, Stage } from "./shutdown.js";
import { openStore } from "./store/store.js";

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
  log: Log;
  /** The port that is open. */
  port: number;
  /** Names this portal to the processes it starts. */
  marker: string;
  shutdown: Pick<Shutdown, "stopping" | "stop">;
}

/** Puts the parts together: each gets what it stands on, each adds its routes and how it is stopped. */
export function createPortal({ options, config, log, port, marker, shutdown }: PortalOptions): Portal {
  const store = openStore({ dataDir: options.dataDir, log });
  // Only who holds the lock of the data folder may end what an earlier portal left running there.
  sweepOrphans(marker).catch(error => log.warn({ err: error }, "cannot look for left-over processes"));
  const env = withoutKeys(process.env, config.providers);
  const runtimes = new RuntimePool({ env, marker, log });
  const demo = demoBackend(log);
  const github = gitHubBackend(async () => (await runtimes.use()).client);
  const own = providerBackends(config.providers, process.env);
  const models = createCatalog({ backends: [github, ...own, ...(options.demo ? [demo] : [])], demo, log });

  const logs = new LiveLogs(store, log);
  const toolOutputDirectory = join(options.dataDir, "tool-output");
  const records = new SessionRecords(store);
  const sessions = installSessions({ records, catalog: models, runtimes, log, toolOutputDirectory }, logs);

  const routes = [
    ...portalRoutes({
      stop: () => void shutdown.stop(),
      health: () => healthOf(store.state(), runtimes.state()),
    }),
    ...modelRoutes(models),
    ...sessionRoutes(logs),
  ];
  const app = createApp({
    routes: withOpenApi(routes),
    log,
    port: () => port,
    stopping: () => shutdown.stopping,
  });
  // Together less than five seconds.
  const stages = [
    { name: "sessions", timeoutMs: 1000, stop: () => sessions.suspend() },
    { name: "agent processes", timeoutMs: 2000, stop: () => runtimes.stop(700) },
    { name: "demo model", timeoutMs: 100, stop: () => demo.close() },
    { name: "store", timeoutMs: 1200, stop: () => store.close() },
  ];
  return { app, stages, ready: store.ready };
}
