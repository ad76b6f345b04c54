import type { Express } from "express";
import { healthOf } from "./api/health.js";
import { modelRoutes } from "./api/modelRoutes.js";
import { portalRoutes, withOpenApi } from "./api/portalRoutes.js";
import { createApp } from "./app.js";
import { createCatalog } from "./backends/catalog.js";
import { demoBackend } from "./backends/demoBackend.js";
import { providerBackends } from "./backends/providers.js";
import type { Config } from "./config.js";
import type { Log } from "./log.js";
import type { Options } from "./options.js";
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
  shutdown: Pick<Shutdown, "stopping" | "stop">;
}

/** Puts the parts together: each gets what it stands on, each adds its routes and how it is stopped. */
export function createPortal({ options, config, log, port, shutdown }: PortalOptions): Portal {
  const store = openStore({ dataDir: options.dataDir, log });
  const demo = demoBackend(log);
  const models = createCatalog({
    backends: [...providerBackends(config.providers, process.env), ...(options.demo ? [demo] : [])],
    demo,
    log,
  });

  const routes = [
    ...portalRoutes({ stop: () => void shutdown.stop(), health: () => healthOf(store.state()) }),
    ...modelRoutes(models),
  ];
  const app = createApp({
    routes: withOpenApi(routes),
    log,
    port: () => port,
    stopping: () => shutdown.stopping,
  });
  const stages = [
    { name: "demo model", timeoutMs: 200, stop: () => demo.close() },
    { name: "store", timeoutMs: 1500, stop: () => store.close() },
  ];
  return { app, stages, ready: store.ready };
}
