import { join } from "node:path";
import express, { type Express } from "express";
import { answerErrors, refuseMalformedPath, refuseUnknownEndpoint } from "./api/errors.js";
import { createApiRouter } from "./api/router.js";
import { isProgram, packageRoot } from "./base/paths.js";
import { PortalError } from "./base/portalError.js";
import { accessLog } from "./guard/accessLog/accessLog.js";
import { createGuard } from "./guard/guard.js";
import type { AppOptions } from "./server/portal.js";
import { staticRouter, unknownPage } from "./server/staticRouter.js";
import { createVendorRouter } from "./server/vendor.js";

/**
 * The website from `assets/` and the API below `/api`, whose handlers are beside their helpers: `copilotApi.ts`,
 * `taskApi.ts`, `jobsApi.ts` and the rooms. Pages may be opened from anywhere; only programs and the portal's own
 * pages get past `guard.calls`.
 */
export function createApp({ routes, elsewhere, mcp, log, stopping, ...options }: AppOptions): Express {
  const guard = createGuard(options);
  const api = (some: typeof routes) => createApiRouter(some, guard.action, elsewhere);
  const app = express();
  app.enable("case sensitive routing");
  app.disable("etag");
  // A token means that others can reach the portal.
  if (options.token !== undefined) app.use(accessLog({ log, paths: routes.map(({ path }) => path) }));
  app.use(guard.everything);
  app.use(staticRouter(join(packageRoot, "assets")));
  app.use("/vendor", createVendorRouter());
  app.use(unknownPage(join(packageRoot, "assets")));
  app.use(guard.calls, refuseMalformedPath());
  app.use("/api", api(routes.filter(route => route.secretInPath)));
  app.use(...guard.token, function refuseWhenStopping(_req, _res, next) {
    if (stopping()) throw PortalError.unavailable("Stopping", "The portal is stopping");
    next();
  });
  app.use("/api", api(routes.filter(route => !route.secretInPath)));
  if (mcp) app.use("/mcp", ...guard.programs, mcp);
  app.use(refuseUnknownEndpoint(), answerErrors(log));
  return app;
}

// A test imports the app alone.
if (isProgram(import.meta.url)) void import("./server/start.js").then(({ start }) => start(createApp));
