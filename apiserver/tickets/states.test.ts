import { describe, expect, test } from "vitest";
import { mayMove, resolvedAtAfter, statusAfterMessage } from "./states.ts";
import { AUTHOR_TYPES, TICKET_STATUSES, type TicketStatus } from "./table.ts";

const ALLOWED: Record<(typeof AUTHOR_TYPES)[number], readonly string[]> = {
  tenant: [
    "open > closed",
    "in_progress > closed",
    "waiting > closed",
    "resolved > open",
    "resolved > closed",
  ],
  provider: [
    "open > in_progress",
    "open > waiting",
    "open > resolved",
    "open > closed",
    "in_progress > open",
    "in_progress > waiting",
    "in_progress > resolved",
    "in_progress > closed",
    "waiting > open",
    "waiting > in_progress",
    "waiting > resolved",
    "waiting > closed",
    "resolved > open",
    "resolved > in_progress",
    "resolved > waiting",
    "resolved > closed",
    "closed > open",
    "closed > in_progress",
    "closed > waiting",
    "closed > resolved",
  ],
};

const moves = AUTHOR_TYPES.flatMap((by) =>
  TICKET_STATUSES.flatMap((from) => TICKET_STATUSES.map((to) => [by, from, to] as const)),
);

describe("the moves of a ticket", () => {
  test.each(moves)("%s: %s > %s is as the table says", (by, from, to) => {
    expect(mayMove(by, from, to)).toBe(from === to || ALLOWED[by].includes(`${from} > ${to}`));
  });

  test.each<[(typeof AUTHOR_TYPES)[number], TicketStatus, TicketStatus | undefined]>([
    ["tenant", "open", "open"],
    ["tenant", "in_progress", "in_progress"],
    ["tenant", "waiting", "open"],
    ["tenant", "resolved", "resolved"],
    ["tenant", "closed", undefined],
    ["provider", "open", "open"],
    ["provider", "in_progress", "in_progress"],
    ["provider", "waiting", "waiting"],
    ["provider", "resolved", "resolved"],
    ["provider", "closed", undefined],
  ])("a message of the %s leaves %s as %s", (by, status, after) => {
    expect(statusAfterMessage(by, status)).toBe(after);
  });
});

describe("resolved_at", () => {
  const before = new Date("2026-11-20T09:00:00Z");
  const at = new Date("2026-11-21T09:00:00Z");

  test.each(TICKET_STATUSES.filter((status) => status !== "resolved"))(
    "is set when a ticket enters resolved from %s, also again",
    (status) => {
      expect(resolvedAtAfter({ status, resolvedAt: null }, "resolved", at)).toBe(at);
      expect(resolvedAtAfter({ status, resolvedAt: before }, "resolved", at)).toBe(at);
    },
  );

  test.each<[TicketStatus, TicketStatus, Date | null]>([
    ["resolved", "open", null],
    ["resolved", "in_progress", null],
    ["resolved", "resolved", before],
    ["resolved", "waiting", before],
    ["resolved", "closed", before],
    ["closed", "open", before],
    ["waiting", "open", before],
    ["waiting", "closed", before],
  ])("of a ticket that moves from %s to %s is %s", (status, to, expected) => {
    expect(resolvedAtAfter({ status, resolvedAt: before }, to, at)).toBe(expected);
  });
});
