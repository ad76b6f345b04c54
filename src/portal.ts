import type { Express } from "express";
import { portalRoutes, withOpenApi } from "./api/portalRoutes.js";
import { createApp } from "./app.js";
import type { Log } from "./log.js";
import type { Options } from "./options.js";
import type { Stage } from "./shutdown.js";

export interface Portal {
  app: Express;
  /** What has to be stopped, in this order. */
  stages: readonly Stage[];
  /** Rejects when something the portal cannot live without is not there. */
  ready: Promise<void>;
}

export interface PortalOptions {
  options: Options;
  log: Log;
  /** The port that is open. */
  port: number;
  stopping(): boolean;
  stop(): void;
}

/** Puts the parts together: each gets what it stands on, each adds its routes and how it is stopped. */
export function createPortal({ log, port, stopping, stop }: PortalOptions): Portal {
  const routes = [
    ...portalRoutes({ stop, health: () => ({ status: "ok", store: "none", runtime: "none" }) }),
  ];
  const app = createApp({ routes: withOpenApi(routes), log, port: () => port, stopping });
  return { app, stages: [], ready: Promise.resolve() };
}
