import type { Context } from "hono";
import type { HttpEnv } from "./env.ts";

/** The address of the peer of this connection; undefined when the request came by no socket. */
export function findSourceAddress(c: Context<HttpEnv>): string | undefined {
  return c.env?.incoming?.socket.remoteAddress;
}
