import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { loopbackNames } from "../../base/loopback.js";
import { PortalError } from "../../base/portalError.js";

export interface HostGuardOptions {
  /** The port that is open, known only after it is: port 0 picks a free one. */
  port(req: IncomingMessage): number;
  /** More names, as `--allowed-hosts` has them: `name` at the portal's port or the usual one, or `name:port`. */
  names?: readonly string[];
}

const defaultHttpPort = 80;

export function isLoopbackHost(host: string): boolean {
  const given = host.toLowerCase();
  return loopbackNames.some(name => given === name || given.startsWith(`${name}:`));
}

export function isAllowedHost(host: string, port: number, names: readonly string[] = []): boolean {
  const given = host.toLowerCase();
  return (
    loopbackNames.some(name => given === `${name}:${port}` || (port === defaultHttpPort && given === name)) ||
    names.some(name => given === name || given === `${name}:${port}`)
  );
}

/** Refuses a request that was sent to any other name: a foreign page whose name was bound to this address. */
export function hostGuard({ port, names = [] }: HostGuardOptions): RequestHandler {
  return function checkHost(req, _res, next) {
    const [host = "", second] = req.headersDistinct.host ?? [];
    const open = port(req);
    // A mounted router has cut the path off `url` and made what is left begin with a slash.
    const toThisServer =
      req.originalUrl.startsWith("/") && second === undefined && isAllowedHost(host, open, names);
    if (!toThisServer) throw PortalError.refused("HostRefused", `Call this server as localhost:${open}`);
    next();
  };
}
