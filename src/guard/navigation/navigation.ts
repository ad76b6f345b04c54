import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { readTextBody } from "../../base/body.js";
import { PortalError } from "../../base/portalError.js";
import { sourceOf } from "../origin/origin.js";
import type { Confirmations } from "./confirmations.js";
import { sendConfirmPage } from "./confirmPage.js";

/** The portal's own pages send it, and no foreign page can: browsers ask first, and are never answered yes. */
export const ownPageHeader = "x-portal-page";

/** A browser that is old, or that talks to a name it does not trust, says nothing of its modes; but it wants a page. */
function wantsPage(headers: IncomingHttpHeaders): boolean {
  const { accept = "", "user-agent": agent = "" } = headers;
  return (
    headers["upgrade-insecure-requests"] !== undefined ||
    (agent.startsWith("Mozilla/") && accept.includes("text/html"))
  );
}

/** Whether a browser is going there, by an address that was typed, a link, a form or a redirect. */
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
 * Whether a script of the portal's own pages calls, or a program. To a name that is not of this machine browsers send
 * no `Sec-Fetch-Site` by plain HTTP, but they send the cookie also for a page on another port: the cookie needs a proof.
 */
export function isOwnCall(req: Pick<IncomingMessage, "headers" | "headersDistinct">): boolean {
  const { secFetchSite, secFetchMode, origin } = sourceOf(req);
  if (secFetchMode === "no-cors") return false;
  const byCookie = req.headers.cookie !== undefined && req.headers.authorization === undefined;
  const proven = secFetchSite === "same-origin" || origin !== undefined || ownPageHeader in req.headers;
  return !byCookie || proven;
}

/** What an address that acts would do, for the page that asks. */
export interface Action {
  readonly summary: string;
  /** Whether going to its address could ever be meant: not for what takes POST alone. */
  readonly takesGet: boolean;
}

/** How a call that acts may go on: as it came, or confirmed by the page; undefined when it has been answered. */
export type ActionGuard = (
  req: Request,
  res: Response,
  action: Action,
) => Promise<"called" | "confirmed" | undefined>;

/** Stands before everything that acts: a browser that merely goes to such an address is asked what its user wants. */
export function actionGuard(confirmations: Confirmations): ActionGuard {
  return async function checkAction(req, res, { summary, takesGet }) {
    if (!isNavigation(req)) {
      if (isOwnCall(req)) return "called";
      throw PortalError.refused("OriginRefused", "Only the portal's own pages, and programs, may do this");
    }
    if (!takesGet) throw PortalError.refused("NavigationRefused", "This is no address for the address bar");
    const form = req.method === "POST" ? new URLSearchParams(await readTextBody(req)) : undefined;
    if (confirmations.isValid(req.originalUrl, form?.get("confirm") ?? "")) return "confirmed";
    sendConfirmPage(res, { summary, address: req.originalUrl, value: confirmations.of(req.originalUrl) });
    return undefined;
  };
}

/** For what is spoken to by programs alone. */
export function refuseNavigation(): RequestHandler {
  return function checkNavigation(req, _res, next) {
    if (isNavigation(req) || !isOwnCall(req))
      throw PortalError.refused("NavigationRefused", "Only programs may call this address");
    next();
  };
}
