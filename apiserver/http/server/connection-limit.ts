import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { RequestLimits } from "../limits.ts";
import { toAddressKey } from "../rate-limits/address-key.ts";
import { createProxyCheck, normalizeAddress } from "./source-address.ts";

/**
 * Closes connections of one address (an IPv6 /64) beyond `maxConnectionsPerAddress`, without a response. A trusted proxy
 * has any number, since it carries the connections of everyone.
 */
export function limitConnectionsPerAddress(
  server: Server,
  limits: Pick<RequestLimits, "maxConnectionsPerAddress" | "trustedProxies">,
): void {
  const isTrusted = createProxyCheck(limits.trustedProxies);
  const openByAddress = new Map<string, number>();
  server.prependListener("connection", (socket: Socket) => {
    // A socket that its peer has closed already has no address, and needs no count.
    if (socket.remoteAddress === undefined) return;
    const address = normalizeAddress(socket.remoteAddress);
    if (isTrusted(address)) return;
    const key = toAddressKey(address);
    const open = openByAddress.get(key) ?? 0;
    if (open >= limits.maxConnectionsPerAddress) {
      socket.destroy();
      return;
    }
    openByAddress.set(key, open + 1);
    socket.once("close", () => {
      const others = (openByAddress.get(key) ?? 1) - 1;
      if (others === 0) openByAddress.delete(key);
      else openByAddress.set(key, others);
    });
  });
}
