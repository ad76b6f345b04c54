import type { RequestHandler } from "express";
import { PortalError } from "../portalError.js";

export interface HostGuardOptions {
  /** The port that is open, known only after it is: port 0 picks a free one. */
  port(): number;
}

/** What this machine calls itself. Nothing a name server answers for, so that no foreign name leads here. */
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];
const defaultHttpPort = 80;

export function isAllowedHost(host: string, port: number): boolean {
  return loopbackNames.some(
    name =>
      host.toLowerCase() === `${name}:${port}` || (port === defaultHttpPort && host.toLowerCase() === name),
  );
}

/** Refuses a request that was sent to any other name: a foreign page whose name was bound to this address. */
export function hostGuard({ port }: HostGuardOptions): RequestHandler {
  return function checkHost(req, _res, next) {
    const [host = "", second] = req.headersDistinct.host ?? [];
    const toThisServer = req.url.startsWith("/") && second === undefined && isAllowedHost(host, port());
    if (!toThisServer)
      throw PortalError.refused("HostRefused", `Open the portal as http://localhost:${port()}`);
    next();
  };
}
