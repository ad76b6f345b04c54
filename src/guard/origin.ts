import type { RequestHandler } from "express";
import { PortalError } from "../portalError.js";

/** What a request says about where it comes from. Browsers say it; curl says nothing. */
export interface RequestSource {
  host: string;
  origin?: string | undefined;
  secFetchSite?: string | undefined;
  referer?: string | undefined;
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** `none` is what a browser sends for an address that its user typed; a page cannot make it say so. */
const ownSites: readonly (string | undefined)[] = [undefined, "same-origin", "none"];

export function isSameOrigin({ host, origin, secFetchSite, referer }: RequestSource): boolean {
  const own = originOf(`http://${host}`);
  return (
    own !== undefined &&
    ownSites.includes(secFetchSite) &&
    (origin === undefined || origin === own) &&
    (referer === undefined || originOf(referer) === own)
  );
}

/** Refuses what a foreign page sends, also without reading the answer: an image, a form, a link to `api/stop`. */
export function originGuard(): RequestHandler {
  return function checkOrigin(req, _res, next) {
    const { host = "", origin, referer, "sec-fetch-site": site } = req.headers;
    const secFetchSite = Array.isArray(site) ? site.join() : site;
    if (!isSameOrigin({ host, origin, secFetchSite, referer })) {
      throw PortalError.refused(
        "OriginRefused",
        "Only the portal's own pages, and programs, may call the API",
      );
    }
    next();
  };
}
