import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { PortalError } from "../../base/portalError.js";
import { isLoopbackHost } from "../host/host.js";

/** What a request says about where it comes from. Browsers say it; curl says nothing. */
export interface RequestSource {
  host: string;
  origin?: string | undefined;
  referer?: string | undefined;
  secFetchSite?: string | undefined;
  secFetchMode?: string | undefined;
  secFetchDest?: string | undefined;
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** A proxy may add https in front of a name of `--allowed-hosts`, but never in front of this machine's own names. */
function ownOrigins(host: string): (string | undefined)[] {
  const schemes = isLoopbackHost(host) ? ["http"] : ["http", "https"];
  return schemes.map(scheme => originOf(`${scheme}://${host}`)).filter(origin => origin !== undefined);
}

type Words = readonly (string | undefined)[];

/**
 * The modes that are valid with each site. A browser sends `none` for an address that its user typed or that another
 * program handed over: always a navigation. Node's `fetch` sends a mode without a site.
 */
const modesOfSite = new Map<string | undefined, Words>([
  [undefined, [undefined, "cors", "same-origin", "navigate"]],
  ["same-origin", [undefined, "cors", "same-origin", "navigate", "no-cors"]],
  ["none", [undefined, "navigate"]],
]);

/** Script calls and pages. The API never serves an image, style, script, frame or worker. */
const destinations: Words = [undefined, "empty", "document"];

export function isSameOrigin(source: RequestSource): boolean {
  const { host, origin, referer, secFetchSite, secFetchMode, secFetchDest } = source;
  const own = ownOrigins(host);
  return (
    own.length > 0 &&
    modesOfSite.get(secFetchSite)?.includes(secFetchMode) === true &&
    destinations.includes(secFetchDest) &&
    (origin === undefined || own.includes(origin)) &&
    (referer === undefined || own.includes(originOf(referer)))
  );
}

/** A page elsewhere that may call, by its whole origin or its name. On this machine each port is a page of its own. */
function isListedOrigin(origin: string, listed: readonly string[]): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname, host, origin: whole } = new URL(origin);
  return listed.includes(whole) || (listed.includes(hostname) && !isLoopbackHost(host));
}

/** Whether this server's own page, a program, or the script of a listed page sent it. */
export function isAllowedSource(source: RequestSource, listed: readonly string[]): boolean {
  const { origin, secFetchMode = "cors", secFetchDest = "empty" } = source;
  const isListed = origin !== undefined && isListedOrigin(origin, listed);
  return isListed ? secFetchMode === "cors" && secFetchDest === "empty" : isSameOrigin(source);
}

/** Stands for a repeated header: no valid value looks like this. */
const several = "several values";

export function sourceOf({ headersDistinct }: Pick<IncomingMessage, "headersDistinct">): RequestSource {
  const only = (name: string) => {
    const [value, second] = headersDistinct[name] ?? [];
    return second === undefined ? value : several;
  };
  return {
    host: only("host") ?? "",
    origin: only("origin"),
    referer: only("referer"),
    secFetchSite: only("sec-fetch-site"),
    secFetchMode: only("sec-fetch-mode"),
    secFetchDest: only("sec-fetch-dest"),
  };
}

export interface OriginGuardOptions {
  /** Pages elsewhere whose scripts may call, each as a name or a whole origin, in lower case. */
  allowedOrigins?: readonly string[];
}

/** Refuses what a foreign page sends, even if it cannot read the answer: an image, a form, a link to `api/stop`. */
export function originGuard({ allowedOrigins = [] }: OriginGuardOptions = {}): RequestHandler {
  return function checkOrigin(req, _res, next) {
    if (!isAllowedSource(sourceOf(req), allowedOrigins)) {
      throw PortalError.refused("OriginRefused", "Only programs and this server's own pages may call it");
    }
    next();
  };
}
