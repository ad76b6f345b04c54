import { join } from "node:path";
import express, { type Express, type RequestHandler } from "express";
import { answerErrors, refuseMalformedPath, refuseUnknownEndpoint } from "../api/errors.js";
import type { Route } from "../api/route.js";
import { createApiRouter } from "../api/router.js";
import type { Log } from "../base/log.js";
import { packageRoot } from "../base/paths.js";
import { PortalError } from "../base/portalError.js";
import { accessLog } from "../guard/accessLog/accessLog.js";
import { createGuard, type GuardOptions } from "../guard/guard.js";
import { staticRouter } from "./staticRouter.js";
import { createVendorRouter } from "./vendor.js";

export interface AppOptions extends GuardOptions {
  routes: readonly Route[];
  /** Handles `/mcp`. */
  mcp?: RequestHandler;
  log: Log;
  /** True from the moment the portal has begun to stop. */
  stopping(): boolean;
}

/** Pages may be opened from anywhere; only programs and the portal's own pages get past `guard.calls`. */
export function createApp({ routes, mcp, log, stopping, ...options }: AppOptions): Express {
  const guard = createGuard(options);
  const app = express();
  app.enable("case sensitive routing");
  app.disable("etag");
  // A token means that others can reach the portal.
  if (options.token !== undefined) app.use(accessLog({ log, paths: routes.map(({ path }) => path) }));
  app.use(guard.everything);
  app.use(staticRouter(join(packageRoot, "assets")));
  app.use("/vendor", createVendorRouter());
  app.use(guard.calls, refuseMalformedPath());
  app.use(
    "/api",
    createApiRouter(
      routes.filter(route => route.secretInPath),
      guard.action,
    ),
  );
  app.use(...guard.token, function refuseWhenStopping(_req, _res, next) {
    if (stopping()) throw PortalError.unavailable("Stopping", "The portal is stopping");
    next();
  });
  app.use(
    "/api",
    createApiRouter(
      routes.filter(route => !route.secretInPath),
      guard.action,
    ),
  );
  if (mcp) app.use("/mcp", ...guard.programs, mcp);
  app.use(refuseUnknownEndpoint(), answerErrors(log));
  return app;
}
