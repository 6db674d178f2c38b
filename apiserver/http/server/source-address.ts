import type { Socket } from "node:net";
import type { Context } from "hono";
import ipaddr from "ipaddr.js";
import type { Logger } from "../../../shared/program/log.ts";
import type { HttpEnv } from "../env.ts";

/**
 * Finds the address a request came from. X-Forwarded-For counts only from the proxies named here (addresses, CIDR);
 * `onUntrusted` gets every other peer that sends it.
 */
export function createSourceFinder(
  trustedProxies: readonly string[],
  onUntrusted: (peer: string) => void = () => undefined,
): (c: Context<HttpEnv>) => string | undefined {
  const isTrusted = createProxyCheck(trustedProxies);
  // The peer of a connection stays the same, and most connections carry many requests.
  const peers = new WeakMap<Socket, string>();
  const findPeer = (socket: Socket): string | undefined => {
    const known = peers.get(socket);
    if (known !== undefined || socket.remoteAddress === undefined) return known;
    const peer = normalizeAddress(socket.remoteAddress);
    peers.set(socket, peer);
    return peer;
  };
  return (c) => {
    const socket = c.env?.incoming?.socket;
    const peer = socket === undefined ? undefined : findPeer(socket);
    const forwardedFor = c.req.header("x-forwarded-for");
    if (peer === undefined || forwardedFor === undefined) return peer;
    if (!isTrusted(peer)) onUntrusted(peer);
    return resolveSource(peer, forwardedFor, isTrusted);
  };
}

const WARN_EVERY_MS = 60_000;

/**
 * Warns of a peer that sends X-Forwarded-For and is not trusted, at most once a minute: it may be the platform's proxy.
 */
export function warnOfUntrusted(
  log: Pick<Logger, "warn">,
  nowMs: () => number = () => performance.now(),
): (peer: string) => void {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (peer) => {
    if (nowMs() < quietUntilMs) return;
    quietUntilMs = nowMs() + WARN_EVERY_MS;
    log.warn(
      { peer },
      "X-Forwarded-For is ignored, since its sender is not in MARINA_TRUSTED_PROXIES: all clients behind it count as one address",
    );
  };
}

/** Whether an address is in one of the ranges. Throws for a malformed range. */
export function createProxyCheck(ranges: readonly string[]): (address: string) => boolean {
  const trusted = { proxies: ranges.map(parseRange) };
  return (address) => ipaddr.subnetMatch(ipaddr.parse(address), trusted, "unknown") === "proxies";
}

/** A CIDR range, or an address as the range of itself. */
function parseRange(range: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (range.includes("/")) return ipaddr.parseCIDR(range);
  const address = ipaddr.parse(range);
  return [address, address.toByteArray().length * 8];
}

/**
 * Follows X-Forwarded-For from its end for as long as the hop is a trusted proxy. What a client wrote into the header
 * itself stands left of what the first trusted proxy added, and is never reached.
 */
export function resolveSource(
  peer: string,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  let source = normalizeAddress(peer);
  if (forwardedFor === undefined) return source;
  for (const hop of forwardedFor.split(",").reverse()) {
    if (!isTrusted(source)) break;
    const address = normalizeAddress(hop.trim());
    if (!isAddress(address)) break;
    source = address;
  }
  return source;
}

/** Drops the zone of a link-local address, and turns ::ffff:192.0.2.1, as dual-stack sockets report it, into IPv4. */
export function normalizeAddress(text: string): string {
  const address = text.replace(/%.*$/, "");
  return isAddress(address) ? ipaddr.process(address).toString() : address;
}

/** Refuses the short, octal and hexadecimal forms of IPv4 that ipaddr.js parses as well. */
function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
}
