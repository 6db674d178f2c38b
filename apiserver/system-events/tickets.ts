import { createHash, randomBytes } from "node:crypto";
import { and, eq, gt, lt, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import type { Principal } from "../http/authentication/principal.ts";
import { type StreamTicketHolder, streamTickets } from "./table.ts";

export const TICKET_SECONDS = 30;
/** 256 random bits in base64url. */
export const TICKET_PATTERN = /^[A-Za-z0-9_-]{43}$/;

export interface Ticket {
  /** To be shown once and never kept. */
  text: string;
  expiresAt: Date;
}

/** Makes a ticket that opens one path once, on any replica, in the name of the principal. Only a hash of it is kept. */
export async function createTicket(db: Database, principal: Principal, path: string): Promise<Ticket> {
  const text = randomBytes(32).toString("base64url");
  const [row] = await db
    .insert(streamTickets)
    .values({
      hash: hashOf(text),
      path: path.toLowerCase(),
      holder: toHolder(principal),
      expiresAt: sql`date_trunc('milliseconds', now()) + make_interval(secs => ${TICKET_SECONDS})`,
    })
    .returning({ expiresAt: streamTickets.expiresAt });
  if (row === undefined) throw new Error("an insert returned no row");
  return { text, expiresAt: row.expiresAt };
}

/** Uses a ticket up: its principal, or undefined when it is unknown, used, expired or for another path. */
export async function redeemTicket(
  db: Database,
  text: string,
  path: string,
  now: Date,
): Promise<Principal | undefined> {
  if (!TICKET_PATTERN.test(text)) return undefined;
  const [row] = await db
    .delete(streamTickets)
    .where(
      and(
        eq(streamTickets.hash, hashOf(text)),
        eq(streamTickets.path, path.toLowerCase()),
        gt(streamTickets.expiresAt, sql`now()`),
      ),
    )
    .returning({ holder: streamTickets.holder });
  if (row === undefined || row.holder.expiresAtMs <= now.getTime()) return undefined;
  return toPrincipal(row.holder);
}

/** Removes the tickets that nobody has used in time. */
export async function purgeTickets(db: Database): Promise<void> {
  await db.delete(streamTickets).where(lt(streamTickets.expiresAt, sql`now()`));
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function toHolder(principal: Principal): StreamTicketHolder {
  const { userId, expiresAtMs } = principal;
  return principal.kind === "user"
    ? { kind: "user", userId, issuer: principal.issuer, expiresAtMs }
    : { kind: "token", userId, tokenId: principal.tokenId, orgId: principal.orgId, expiresAtMs };
}

/** A ticket carries nobody's realm roles, and accepts no invitation. */
function toPrincipal(holder: StreamTicketHolder): Principal {
  const bare = { emailVerified: false, emailTrusted: false, roles: [] } as const;
  return { ...holder, ...bare };
}
