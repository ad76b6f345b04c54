import { BlockList, isIPv6 } from "node:net";

/** What this machine calls itself. Nothing a name server answers for, so that no foreign name leads here. */
export const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a name or an address, as people write it, is that of this machine. */
export function isLoopbackName(host: string): boolean {
  const given = host.toLowerCase();
  return given === "::1" || loopbackNames.includes(given);
}

const addresses = new BlockList();
addresses.addSubnet("127.0.0.0", 8, "ipv4");
addresses.addAddress("::1", "ipv6");

/** Whether the address at the other end of a connection is of this machine; also an IPv4 address written as IPv6. */
export function isLoopbackAddress(address: string): boolean {
  return addresses.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
