import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { loopbackNames } from "../../base/loopback.js";
import { PortalError } from "../../base/portalError.js";

export interface HostGuardOptions {
  /** The open port, known only once it is open: port 0 picks a free one. */
  port(req: IncomingMessage): number;
  /** The names from `--allowed-hosts`: `name` at the portal's port or the default one, or `name:port`. */
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

/** Refuses a request to any other name: a foreign page may make its own name resolve to this address. */
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
