import { isLoopbackAddress } from "../../../base/loopback.js";

/** Whether both ends of a connection are on this machine: who calls its own address comes from there. */
export function isThisMachine({ remoteAddress, localAddress }: Ends): boolean {
  if (remoteAddress === undefined) return false;
  return remoteAddress === localAddress || isLoopbackAddress(remoteAddress);
}

interface Ends {
  remoteAddress?: string | undefined;
  localAddress?: string | undefined;
}
