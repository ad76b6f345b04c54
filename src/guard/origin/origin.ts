import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { PortalError } from "../../portalError.js";
import { isLoopbackHost } from "../host/host.js";

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

/** A name of `--allowed-hosts` may have a proxy in front that adds https; this machine's own names never have. */
function ownOrigins(host: string): (string | undefined)[] {
  const schemes = isLoopbackHost(host) ? ["http"] : ["http", "https"];
  return schemes.map(scheme => originOf(`${scheme}://${host}`)).filter(origin => origin !== undefined);
}

/** `none` is what a browser sends for an address that its user typed; a page cannot make it say so. */
const ownSites: readonly (string | undefined)[] = [undefined, "same-origin", "none"];

export function isSameOrigin({ host, origin, secFetchSite, referer }: RequestSource): boolean {
  const own = ownOrigins(host);
  return (
    own.length > 0 &&
    ownSites.includes(secFetchSite) &&
    (origin === undefined || own.includes(origin)) &&
    (referer === undefined || own.includes(originOf(referer)))
  );
}

export function sourceOf({ headers }: IncomingMessage): RequestSource {
  const { host = "", origin, referer, "sec-fetch-site": site } = headers;
  return { host, origin, referer, secFetchSite: Array.isArray(site) ? site.join() : site };
}

/** Refuses what a foreign page sends, also without reading the answer: an image, a form, a link to `api/stop`. */
export function originGuard(): RequestHandler {
  return function checkOrigin(req, _res, next) {
    if (!isSameOrigin(sourceOf(req))) {
      throw PortalError.refused(
        "OriginRefused",
        "Only the portal's own pages, and programs, may call the API",
      );
    }
    next();
  };
}
