import { BlockList, isIPv6 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether both ends of a connection are on this machine: who calls its own address comes from there. */
export function isThisMachine({ remoteAddress, localAddress }: Ends): boolean {
  if (remoteAddress === undefined) return false;
  return (
    remoteAddress === localAddress || loopback.check(remoteAddress, isIPv6(remoteAddress) ? "ipv6" : "ipv4")
  );
}

interface Ends {
  remoteAddress?: string | undefined;
  localAddress?: string | undefined;
}
