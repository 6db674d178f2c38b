import { describe, expect, test } from "vitest";
import {
  DEFAULT_RESPONSE_TARGETS,
  type ResponseTargets,
  responseTargetsSchema,
  type WorkingCalendar,
} from "./config.ts";
import { type Awaited, addWorkingHours, isOverdue, respondBy } from "./respond-by.ts";
import { TICKET_STATUSES } from "./table.ts";

const SINCE = new Date("2026-11-21T09:00:00Z");

const ticket = (changes: Partial<Awaited> = {}): Awaited => ({
  status: "open",
  severity: "high",
  firstResponseAt: null,
  awaitingSince: SINCE,
  ...changes,
});

const hoursLater = (hours: number) => new Date(SINCE.getTime() + hours * 3_600_000);

function calendarOf(changes: object = {}): WorkingCalendar {
  const { calendar } = responseTargetsSchema.parse({
    calendar: {
      timeZone: "Europe/Vienna",
      hours: Object.fromEntries(
        ["monday", "tuesday", "wednesday", "thursday", "friday"].map((day) => [
          day,
          ["08:00-12:00", "13:00-17:00"],
        ]),
      ),
      holidays: ["2026-12-25", "2027-01-01", "2027-01-06"],
      ...changes,
    },
  });
  if (calendar === undefined) throw new Error("no calendar");
  return calendar;
}

describe("the time of the next response", () => {
  test.each(Object.entries(DEFAULT_RESPONSE_TARGETS) as [Awaited["severity"], { firstHours: number }][])(
    "of severity %s counts from the ticket until the first response",
    (severity, { firstHours }) => {
      expect(respondBy(DEFAULT_RESPONSE_TARGETS, ticket({ severity }))).toEqual(hoursLater(firstHours));
    },
  );

  test("is that of a further response once there was a first one", () => {
    expect(respondBy(DEFAULT_RESPONSE_TARGETS, ticket({ firstResponseAt: SINCE }))).toEqual(hoursLater(8));
  });

  test.each(TICKET_STATUSES)("exists in %s only where the next step is the staff's", (status) => {
    const expected = ["open", "in_progress"].includes(status) ? hoursLater(4) : null;
    expect(respondBy(DEFAULT_RESPONSE_TARGETS, ticket({ status }))).toEqual(expected);
  });

  test("does not exist once the last message is the provider's", () => {
    expect(respondBy(DEFAULT_RESPONSE_TARGETS, ticket({ awaitingSince: null }))).toBeNull();
  });

  test("counts the hours of the calendar for the severities that say so", () => {
    const targets: ResponseTargets = {
      ...DEFAULT_RESPONSE_TARGETS,
      high: { firstHours: 4, nextHours: 8, clock: "working" },
      calendar: calendarOf(),
    };
    // 2026-11-21 is a Saturday.
    expect(respondBy(targets, ticket())?.toISOString()).toBe("2026-11-23T11:00:00.000Z");
    expect(respondBy(targets, ticket({ severity: "critical" }))).toEqual(hoursLater(1));
  });

  test("is overdue from the instant after it", () => {
    expect(isOverdue({ respondBy: SINCE }, SINCE)).toBe(false);
    expect(isOverdue({ respondBy: SINCE }, new Date(SINCE.getTime() + 1))).toBe(true);
    expect(isOverdue({ respondBy: null }, SINCE)).toBe(false);
  });
});

const week = (interval: string) => ({
  hours: Object.fromEntries(
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].map((day) => [
      day,
      [interval],
    ]),
  ),
  holidays: [],
});

describe("working time", () => {
  // Vienna is an hour ahead of UTC in winter and two in summer.
  test.each<[string, object, string, number, string]>([
    ["within one morning", {}, "2026-11-23T07:30:00Z", 2, "2026-11-23T09:30:00Z"],
    ["across the break at noon", {}, "2026-11-23T10:30:00Z", 2, "2026-11-23T13:30:00Z"],
    ["up to the end of the day", {}, "2026-11-23T12:00:00Z", 4, "2026-11-23T16:00:00Z"],
    ["over night", {}, "2026-11-23T15:00:00Z", 2, "2026-11-24T08:00:00Z"],
    ["from the night", {}, "2026-11-23T02:00:00Z", 1, "2026-11-23T08:00:00Z"],
    ["over a weekend", {}, "2026-11-20T15:30:00Z", 1, "2026-11-23T07:30:00Z"],
    ["from a Sunday", {}, "2026-11-22T10:00:00Z", 1, "2026-11-23T08:00:00Z"],
    ["over a holiday and a weekend", {}, "2026-12-24T15:00:00Z", 2, "2026-12-28T08:00:00Z"],
    ["from a holiday", {}, "2027-01-06T10:00:00Z", 1, "2027-01-07T08:00:00Z"],
    ["over two weeks with two holidays", {}, "2026-12-31T07:00:00Z", 40, "2027-01-08T16:00:00Z"],
    ["a part of an hour", {}, "2026-11-23T07:00:00Z", 0.25, "2026-11-23T07:15:00Z"],
    ["over the beginning of summer time", {}, "2027-03-26T15:00:00Z", 2, "2027-03-29T07:00:00Z"],
    ["over the end of summer time", {}, "2026-10-23T14:00:00Z", 2, "2026-10-26T08:00:00Z"],
    [
      "in the night in which an hour is skipped",
      week("01:00-05:00"),
      "2027-03-27T23:00:00Z",
      3,
      "2027-03-28T03:00:00Z",
    ],
    [
      "in the night in which an hour is repeated",
      week("01:00-05:00"),
      "2026-10-24T22:00:00Z",
      5,
      "2026-10-25T04:00:00Z",
    ],
    ["from a time that is skipped", week("02:30-04:30"), "2027-03-28T00:00:00Z", 1, "2027-03-28T02:30:00Z"],
    ["up to midnight", week("22:00-24:00"), "2026-11-23T20:00:00Z", 2, "2026-11-23T23:00:00Z"],
    ["over midnight, day and night", week("00:00-24:00"), "2026-10-24T12:00:00Z", 24, "2026-10-25T12:00:00Z"],
    [
      "where the day begins on the date before",
      { timeZone: "America/Los_Angeles" },
      "2026-11-24T00:30:00Z",
      1,
      "2026-11-24T16:30:00Z",
    ],
    [
      "where the clocks change by half an hour",
      { ...week("01:00-05:00"), timeZone: "Australia/Lord_Howe" },
      "2026-10-03T14:00:00Z",
      3,
      "2026-10-03T17:30:00Z",
    ],
  ])("%s", (_case, changes, from, hours, expected) => {
    const at = addWorkingHours(calendarOf(changes), new Date(from), hours);
    expect(at.toISOString()).toBe(new Date(expected).toISOString());
  });
});
