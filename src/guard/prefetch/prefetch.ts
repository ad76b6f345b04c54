import type { IncomingHttpHeaders } from "node:http";
import type { RequestHandler } from "express";
import { PortalError } from "../../base/portalError.js";

/** The headers that browsers send, now or formerly, when their user has not asked for the page yet. */
const signs = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;

/** Whether a browser fetches this in case its user wants it, which any foreign page can cause. */
export function isSpeculative(headers: IncomingHttpHeaders): boolean {
  // The portal has no service worker, so only an attacker registers one.
  return signs.some(name => headers[name] !== undefined) || headers["service-worker"] !== undefined;
}

/** Nothing is prefetched, not even a page: the browser asks again when its user really goes there. */
export function prefetchGuard(): RequestHandler {
  return function checkPrefetch(req, res, next) {
    if (!isSpeculative(req.headers)) return next();
    res.setHeader("Cache-Control", "no-store");
    throw PortalError.refused("PrefetchRefused", "The portal does not answer prefetches; open the address");
  };
}
