import { isLoopbackAddress } from "../../../base/loopback.js";

/** Whether both ends of a connection are on this machine: a local caller comes from the address that it calls. */
export function isThisMachine({ remoteAddress, localAddress }: Ends): boolean {
  if (remoteAddress === undefined) return false;
  return remoteAddress === localAddress || isLoopbackAddress(remoteAddress);
}

interface Ends {
  remoteAddress?: string | undefined;
  localAddress?: string | undefined;
}
