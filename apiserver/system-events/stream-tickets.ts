import { createHash, randomBytes } from "node:crypto";
import type { Queryable } from "../db/client.ts";
import type { Principal } from "../http/authentication/principal.ts";
import { insertStreamTicket, takeStreamTicket } from "./store.ts";
import type { StreamTicketHolder } from "./table.ts";

const LIFETIME_SECONDS = 30;
/** 256 random bits in base64url. */
const TICKET_PATTERN = /^[A-Za-z0-9_-]{43}$/;

/** Creates a stream ticket, which opens one path once, on any replica, as the principal. Only its hash is stored, never `text`. */
export async function createStreamTicket(
  tx: Queryable,
  principal: Principal,
  path: string,
): Promise<{ text: string; expiresAt: Date }> {
  const text = randomBytes(32).toString("base64url");
  const expiresAt = await insertStreamTicket(tx, {
    hash: hashOf(text),
    path: path.toLowerCase(),
    holder: toHolder(principal),
    lifetimeSeconds: LIFETIME_SECONDS,
  });
  return { text, expiresAt };
}

/** Uses a stream ticket: returns its principal, or undefined when it is unknown, used, expired or for another path. */
export async function redeemStreamTicket(
  db: Queryable,
  text: string,
  path: string,
  now: Date,
): Promise<Principal | undefined> {
  if (!TICKET_PATTERN.test(text) || path.includes("\0")) return undefined;
  const holder = await takeStreamTicket(db, { hash: hashOf(text), path: path.toLowerCase() });
  if (holder === undefined || holder.expiresAtMs <= now.getTime()) return undefined;
  return toPrincipal(holder);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function toHolder(principal: Principal): StreamTicketHolder {
  const { userId, expiresAtMs } = principal;
  return principal.kind === "user"
    ? { kind: "user", userId, issuer: principal.issuer, expiresAtMs }
    : {
        kind: "token",
        userId,
        tokenId: principal.tokenId,
        orgId: principal.orgId,
        version: principal.version,
        expiresAtMs,
      };
}

/** A stream ticket carries no realm roles and accepts no invitation. */
function toPrincipal(holder: StreamTicketHolder): Principal {
  return { ...holder, emailVerified: false, emailTrusted: false, roles: [] };
}
