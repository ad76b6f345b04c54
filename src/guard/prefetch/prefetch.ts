import type { IncomingHttpHeaders } from "node:http";
import type { RequestHandler } from "express";
import { PortalError } from "../../base/portalError.js";

/** What browsers say, today and in the past, when nobody has asked for the page yet. */
const signs = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;

/** Whether a browser fetches this on the chance that its user may want it, which any foreign page can bring about. */
export function isSpeculative(headers: IncomingHttpHeaders): boolean {
  // The portal has no service worker: whoever registers one is not the portal.
  return signs.some(name => headers[name] !== undefined) || headers["service-worker"] !== undefined;
}

/** Nothing is fetched in advance, the pages among it: the browser asks again when its user really goes there. */
export function prefetchGuard(): RequestHandler {
  return function checkPrefetch(req, res, next) {
    if (!isSpeculative(req.headers)) return next();
    res.setHeader("Cache-Control", "no-store");
    throw PortalError.refused("PrefetchRefused", "The portal answers nothing in advance; open the address");
  };
}
