import type { TicketSeverity, TicketStatus } from "../outbox/index.ts";
import type { ResponseTargets } from "../response-targets.ts";
import { addWorkingHours } from "./working-time.ts";

const MS_PER_HOUR = 60 * 60_000;

/** What the time of the next response depends on. */
export interface Awaited {
  status: TicketStatus;
  severity: TicketSeverity;
  firstResponseAt: Date | null;
  /** Since when the tenant has waited for an answer; null once the last public message is the provider's. */
  awaitingSince: Date | null;
}

/** Whether the next step of a ticket in this status is the staff's. */
export function isWithStaff(status: TicketStatus): boolean {
  return status === "open" || status === "in_progress";
}

/** When the staff is to respond at the latest; null while the ticket waits for its tenant or is done. */
export function respondBy(targets: ResponseTargets, ticket: Awaited): Date | null {
  const { status, severity, firstResponseAt, awaitingSince } = ticket;
  if (awaitingSince === null || !isWithStaff(status)) return null;
  const { firstHours, nextHours, clock } = targets[severity];
  const hours = firstResponseAt === null ? firstHours : nextHours;
  if (clock === "always" || targets.calendar === undefined)
    return new Date(awaitingSince.getTime() + hours * MS_PER_HOUR);
  return addWorkingHours(targets.calendar, awaitingSince, hours);
}

/** Whether the time of a response has passed without one. */
export function isOverdue({ respondBy: by }: { respondBy: Date | null }, now: Date): boolean {
  return by !== null && by < now;
}
