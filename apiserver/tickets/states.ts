import type { AuthorType, TicketStatus } from "./table.ts";

/** Which statuses a tenant may give a ticket, by the status that it has. */
const TENANT_MOVES: Record<TicketStatus, readonly TicketStatus[]> = {
  open: ["closed"],
  in_progress: ["closed"],
  waiting: ["closed"],
  resolved: ["open", "closed"],
  closed: [],
};

/** Whether this side may move a ticket from one status to another: staff always, and staying is no move. */
export function mayMove(by: AuthorType, from: TicketStatus, to: TicketStatus): boolean {
  return by === "provider" || from === to || TENANT_MOVES[from].includes(to);
}

/** The status after a public message; undefined where none can be written. */
export function statusAfterMessage(by: AuthorType, status: TicketStatus): TicketStatus | undefined {
  if (status === "closed") return undefined;
  return by === "tenant" && status === "waiting" ? "open" : status;
}

/**
 * `resolved_at` after a change of status: set whenever the ticket enters `resolved`, cleared only when a
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
