import type { Socket } from "node:net";
import type { RequestHandler } from "express";
import { PortalError } from "../../base/portalError.js";
import { isHeldOutside } from "./socketOwner.js";

export interface CallerGuardOptions {
  /** Whether an agent has been put into a sandbox. */
  hasSandboxes(): boolean;
}

async function isOutside({ remoteAddress, remotePort, localAddress, localPort }: Socket): Promise<boolean> {
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return false;
  return isHeldOutside(
    { address: remoteAddress, port: remotePort },
    { address: localAddress, port: localPort },
  );
}

/**
 * An agent in a sandbox shares the network, and could ask the portal for what the sandbox keeps from it. Where no token
 * tells callers apart, the caller must be visibly outside. Costs nothing before the first sandbox.
 */
export function callerGuard({ hasSandboxes }: CallerGuardOptions): RequestHandler {
  const known = new WeakMap<Socket, Promise<boolean>>();
  return async function checkCaller({ socket }, _res, next) {
    if (!hasSandboxes()) return next();
    const outside = known.get(socket) ?? isOutside(socket);
    known.set(socket, outside);
    if (!(await outside))
      throw PortalError.refused(
        "CallerRefused",
        "Agents run in a sandbox, and this call may come from one. Start the portal with --auth to call it with a token",
      );
    next();
  };
}
