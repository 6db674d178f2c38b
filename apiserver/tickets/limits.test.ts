import { expect, test } from "vitest";
import { ApiError } from "../http/errors.ts";
import { DEFAULT_TICKET_LIMITS } from "./config.ts";
import type { TicketUse } from "./limit-store.ts";
import { requireCapacity } from "./limits.ts";

const limits = { ...DEFAULT_TICKET_LIMITS, openTickets: 5, ticketsPerDay: 3, attachmentBytes: 100 };

test("there is room up to each limit, inclusive", () => {
  const take = (use: TicketUse, growth: TicketUse) => () => requireCapacity(limits, use, growth);
  expect(take({ openTickets: 4, ticketsPerDay: 2 }, { openTickets: 1, ticketsPerDay: 1 })).not.toThrow();
  expect(take({ attachmentBytes: 60 }, { attachmentBytes: 40 })).not.toThrow();
  // What is in use beyond a limit that was lowered stops nothing else.
  expect(take({ openTickets: 9, attachmentBytes: 0 }, { attachmentBytes: 1 })).not.toThrow();
});

test.each([
  ["one", { openTickets: 5, ticketsPerDay: 0 }, ["open_tickets"]],
  ["each of several", { openTickets: 7, ticketsPerDay: 3 }, ["open_tickets", "tickets_per_day"]],
])("beyond %s the refusal names the limit, its use and what was requested", (_case, use, fields) => {
  const refusal = catchError(() => requireCapacity(limits, use, { openTickets: 1, ticketsPerDay: 1 }));
  expect(refusal).toMatchObject({ code: "quota_exceeded", status: 422 });
  expect(refusal.details?.map(({ field }) => field)).toEqual(fields);
  expect(refusal.message).toContain(
    `open_tickets: the quota is 5, ${use.openTickets} in use, 1 more requested`,
  );
});

function catchError(run: () => void): ApiError {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  throw new Error("nothing was refused");
}
