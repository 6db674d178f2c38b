import ipaddr from "ipaddr.js";

/**
 * The key that failed sign-ins and connections are counted by: an IPv4 address, or the /64 that one IPv6 customer has
 * at least.
 */
export function toAddressKey(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`;
}
