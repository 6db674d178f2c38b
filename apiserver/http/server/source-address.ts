import { BlockList, isIP } from "node:net";
import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";

/** The address that this request came from; undefined when it came by no socket. */
export function findSourceAddress(c: Context<HttpEnv>): string | undefined {
  return c.get("sourceAddress");
}

/** Makes the function that finds where a request came from. X-Forwarded-For counts only from the proxies named here (CIDR). */
export function createSourceFinder(
  trustedProxies: readonly string[],
): (c: Context<HttpEnv>) => string | undefined {
  const isTrusted = createProxyCheck(trustedProxies);
  return (c) => {
    const peer = c.env?.incoming?.socket.remoteAddress;
    return peer === undefined ? undefined : resolveSource(peer, c.req.header("x-forwarded-for"), isTrusted);
  };
}

/** Whether an address is one of the given ranges. Throws for a range that is none. */
export function createProxyCheck(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/", 2);
    const family = familyOf(address);
    list.addSubnet(address, prefix === undefined ? bitsOf(family) : Number(prefix), family);
  }
  return (address) => list.check(address, familyOf(address));
}

/**
 * Goes back from the peer through X-Forwarded-For for as long as the hop is a trusted proxy: what a client wrote into
 * the header itself stands left of what the first trusted proxy saw, and is never reached.
 */
export function resolveSource(
  peer: string,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  let source = normalize(peer);
  if (forwardedFor === undefined) return source;
  for (const hop of forwardedFor.split(",").reverse()) {
    if (!isTrusted(source)) break;
    const address = normalize(hop.trim());
    if (isIP(address) === 0) break;
    source = address;
  }
  return source;
}

/** What failed logins are counted by: an IPv4 address, or the /64 that one IPv6 customer has at least. */
export function toAddressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill("0");
  return `${[...left, ...zeros, ...right].slice(0, 4).join(":")}::/64`;
}

/** A dual-stack socket reports IPv4 peers as ::ffff:192.0.2.1. */
function normalize(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function bitsOf(family: "ipv4" | "ipv6"): number {
  return family === "ipv6" ? 128 : 32;
}
