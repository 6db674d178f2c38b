import type { Queryable } from "../db/client.ts";
import { ApiError, describeExcess, type ErrorDetail, type QuotaFigures } from "../http/errors.ts";
import type { TicketLimits } from "./config.ts";
import { type OrganizationTicketUse, readTicketUse, readUseOfTicket, type TicketUse } from "./limit-store.ts";
import type { TicketRow } from "./table.ts";

/** What the members of an organization may add to tickets, by its names in messages and in the quotas record. */
const WIRE_NAMES = {
  openTickets: "open_tickets",
  ticketsPerDay: "tickets_per_day",
  messagesPerDay: "ticket_messages_per_day",
  messagesPerTicket: "messages_per_ticket",
  attachmentsPerDay: "attachments_per_day",
  attachmentsPerTicket: "attachments_per_ticket",
  attachmentBytesPerTicket: "attachment_bytes_per_ticket",
  attachmentBytes: "attachment_bytes",
} as const satisfies Record<keyof TicketLimits, string>;

const DAY_MS = 24 * 3_600_000;

/** What a request adds. */
type Growth = Partial<TicketUse>;

/** Where and when something is added, and what may be. */
export interface TicketQuotaScope {
  orgId: string;
  at: Date;
  limits: TicketLimits;
}

type TicketStores = Record<(typeof WIRE_NAMES)[keyof OrganizationTicketUse], QuotaFigures>;

/** What an organization has in tickets and may, as stores of it: all limits but those of a single ticket. */
export async function readTicketStores(
  db: Queryable,
  { orgId, at, limits }: TicketQuotaScope,
): Promise<TicketStores> {
  const use = await readTicketUse(db, orgId, dayBefore(at));
  const figuresOf = (name: keyof typeof use) => ({ limit: limits[name], used: use[name] });
  return {
    [WIRE_NAMES.openTickets]: figuresOf("openTickets"),
    [WIRE_NAMES.ticketsPerDay]: figuresOf("ticketsPerDay"),
    [WIRE_NAMES.messagesPerDay]: figuresOf("messagesPerDay"),
    [WIRE_NAMES.attachmentsPerDay]: figuresOf("attachmentsPerDay"),
    [WIRE_NAMES.attachmentBytes]: figuresOf("attachmentBytes"),
  };
}

/** Call it under the organization's row lock. Throws 422 quota_exceeded. */
export async function requireCapacityForTicket(
  tx: Queryable,
  { orgId, at, limits }: TicketQuotaScope,
): Promise<void> {
  const use = await readTicketUse(tx, orgId, dayBefore(at));
  requireCapacity(limits, use, { openTickets: 1, ticketsPerDay: 1, messagesPerDay: 1 });
}

/** Call it under the organization's row lock. Throws 422 quota_exceeded. */
export async function requireCapacityForMessage(
  tx: Queryable,
  { at, limits }: Omit<TicketQuotaScope, "orgId">,
  ticket: Pick<TicketRow, "id" | "orgId">,
): Promise<void> {
  const use = {
    ...(await readTicketUse(tx, ticket.orgId, dayBefore(at))),
    ...(await readUseOfTicket(tx, ticket)),
  };
  requireCapacity(limits, use, { messagesPerDay: 1, messagesPerTicket: 1 });
}

/** Call it under the organization's row lock. Throws 422 quota_exceeded. */
export async function requireCapacityForAttachment(
  tx: Queryable,
  { at, limits }: Omit<TicketQuotaScope, "orgId">,
  ticket: Pick<TicketRow, "id" | "orgId">,
  bytes: number,
): Promise<void> {
  const use = {
    ...(await readTicketUse(tx, ticket.orgId, dayBefore(at))),
    ...(await readUseOfTicket(tx, ticket)),
  };
  requireCapacity(limits, use, {
    attachmentsPerDay: 1,
    attachmentsPerTicket: 1,
    attachmentBytesPerTicket: bytes,
    attachmentBytes: bytes,
  });
}

/** Throws 422 quota_exceeded, with a detail for each limit that would be exceeded. */
export function requireCapacity(limits: TicketLimits, use: TicketUse, growth: Growth): void {
  const exceeded = keysOf(growth).flatMap((name): ErrorDetail[] => {
    const [limit, used, more] = [limits[name], use[name] ?? 0, growth[name] ?? 0];
    if (used + more <= limit) return [];
    return [describeExcess(WIRE_NAMES[name], { limit, used }, more)];
  });
  if (exceeded.length === 0) return;
  const message = exceeded.map((detail) => `${detail.field}: ${detail.message}`).join("; ");
  throw new ApiError("quota_exceeded", `${message}.`, { details: exceeded });
}

function keysOf(use: Growth): (keyof TicketLimits)[] {
  return (Object.keys(WIRE_NAMES) as (keyof TicketLimits)[]).filter((name) => use[name] !== undefined);
}

function dayBefore(at: Date): Date {
  return new Date(at.getTime() - DAY_MS);
}
