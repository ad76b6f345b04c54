import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { readTextBody } from "../../base/body.js";
import { PortalError } from "../../base/portalError.js";
import { sourceOf } from "../origin/origin.js";
import type { Confirmations } from "./confirmations.js";
import { sendConfirmPage } from "./confirmPage.js";

/** The portal's own pages send it. Foreign pages cannot: browsers ask first, and the portal never says yes. */
export const ownPageHeader = "x-portal-page";

/** An old browser, or one that calls an untrusted name, sends no modes; but it asks for a page. */
function wantsPage(headers: IncomingHttpHeaders): boolean {
  const { accept = "", "user-agent": agent = "" } = headers;
  return (
    headers["upgrade-insecure-requests"] !== undefined ||
    (agent.startsWith("Mozilla/") && accept.includes("text/html"))
  );
}

/** Whether a browser navigates there: by a typed address, a link, a form or a redirect. */
export function isNavigation(req: Pick<IncomingMessage, "headers" | "headersDistinct">): boolean {
  const { secFetchSite, secFetchMode, secFetchDest } = sourceOf(req);
  return (
    secFetchSite === "none" ||
    secFetchMode === "navigate" ||
    secFetchDest === "document" ||
    (secFetchMode === undefined && wantsPage(req.headers))
  );
}

/**
 * Whether a script of the portal's own pages calls, or a program. Over plain HTTP, browsers send no `Sec-Fetch-Site` to
 * a name that is not local, but they do send the cookie for a page on another port: so the cookie alone proves nothing.
 */
export function isOwnCall(req: Pick<IncomingMessage, "headers" | "headersDistinct">): boolean {
  const { secFetchSite, secFetchMode, origin } = sourceOf(req);
  if (secFetchMode === "no-cors") return false;
  const byCookie = req.headers.cookie !== undefined && req.headers.authorization === undefined;
  const proven = secFetchSite === "same-origin" || origin !== undefined || ownPageHeader in req.headers;
  return !byCookie || proven;
}

/** What an address that acts would do, for the confirmation page. */
export interface Action {
  readonly summary: string;
  /** Whether a user might navigate to the address on purpose: never when it takes only POST. */
  readonly takesGet: boolean;
}

/** How a call that acts may proceed: as it came, or confirmed by the page; undefined when it has been answered. */
export type ActionGuard = (
  req: Request,
  res: Response,
  action: Action,
) => Promise<"called" | "confirmed" | undefined>;

/** Runs before everything that acts: when a browser merely navigates to such an address, its user is asked first. */
export function actionGuard(confirmations: Confirmations): ActionGuard {
  return async function checkAction(req, res, { summary, takesGet }) {
    if (!isNavigation(req)) {
      if (isOwnCall(req)) return "called";
      throw PortalError.refused("OriginRefused", "Only programs and the portal's own pages may do this");
    }
    if (!takesGet) throw PortalError.refused("NavigationRefused", "A browser cannot open this address");
    const form = req.method === "POST" ? new URLSearchParams(await readTextBody(req)) : undefined;
    if (confirmations.isValid(req.originalUrl, form?.get("confirm") ?? "")) return "confirmed";
    sendConfirmPage(res, { summary, address: req.originalUrl, value: confirmations.of(req.originalUrl) });
    return undefined;
  };
}

/** For addresses that only programs call. */
export function refuseNavigation(): RequestHandler {
  return function checkNavigation(req, _res, next) {
    if (isNavigation(req) || !isOwnCall(req))
      throw PortalError.refused("NavigationRefused", "Only programs may call this address");
    next();
  };
}
