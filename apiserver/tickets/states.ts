import type { AuthorType, TicketStatus } from "../outbox/index.ts";

const ANY = ["open", "in_progress", "waiting", "resolved", "closed"] as const;

/** Which statuses each side may give a ticket, by the status that it has. */
const TRANSITIONS: Record<AuthorType, Record<TicketStatus, readonly TicketStatus[]>> = {
  tenant: {
    open: ["closed"],
    in_progress: ["closed"],
    waiting: ["closed"],
    resolved: ["open", "closed"],
    closed: [],
  },
  provider: { open: ANY, in_progress: ANY, waiting: ANY, resolved: ANY, closed: ["open"] },
};

/** Whether this side may move a ticket from one status to another; staying is no move and always allowed. */
export function mayMove(by: AuthorType, from: TicketStatus, to: TicketStatus): boolean {
  return from === to || TRANSITIONS[by][from].includes(to);
}

/** The status after a public message; undefined where none can be written. */
export function statusAfterMessage(by: AuthorType, status: TicketStatus): TicketStatus | undefined {
  if (status === "closed") return undefined;
  return by === "tenant" && status === "waiting" ? "open" : status;
}

/**
 * `resolved_at` after a change of status (spec section 3): set whenever the ticket enters `resolved`, cleared only when a
 * resolved one is opened or worked on again.
 */
export function resolvedAtAfter(
  { status, resolvedAt }: { status: TicketStatus; resolvedAt: Date | null },
  to: TicketStatus,
  at: Date,
): Date | null {
  if (status === to) return resolvedAt;
  if (to === "resolved") return at;
  return status === "resolved" && (to === "open" || to === "in_progress") ? null : resolvedAt;
}
