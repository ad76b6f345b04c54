import { BlockList, isIPv6 } from "node:net";

/** This machine's own names. No name server answers for them, so no foreign name can resolve to them. */
export const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a name or an address, as people write it, belongs to this machine. */
export function isLoopbackName(host: string): boolean {
  const given = host.toLowerCase();
  return given === "::1" || loopbackNames.includes(given);
}

const addresses = new BlockList();
addresses.addSubnet("127.0.0.0", 8, "ipv4");
addresses.addAddress("::1", "ipv6");

/** Whether the other end of a connection is on this machine, even when its IPv4 address is written as IPv6. */
export function isLoopbackAddress(address: string): boolean {
  return addresses.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
