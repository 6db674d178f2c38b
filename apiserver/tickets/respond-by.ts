import { Temporal } from "@js-temporal/polyfill";
import { type ResponseTargets, WEEKDAYS, type WorkingCalendar } from "./config.ts";
import type { TicketSeverity, TicketStatus } from "./table.ts";

const MS_PER_MINUTE = 60_000;

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

/**
 * The time at which `hours` of working time have passed since `from`. Each hour is 60 minutes of real time: on a day on
 * which the clocks change, working hours around the change are an hour shorter or longer. The calendar has an hour a
 * week at least.
 */
export function addWorkingHours(calendar: WorkingCalendar, from: Date, hours: number): Date {
  const holidays = new Set(calendar.holidays);
  let remainingMs = Math.round(hours * 60 * MS_PER_MINUTE);
  let day = toDay(from, calendar.timeZone);
  for (;;) {
    for (const { startMs, endMs } of holidays.has(day.toString()) ? [] : intervalsOf(calendar, day)) {
      const beginMs = Math.max(startMs, from.getTime());
      if (endMs <= beginMs) continue;
      if (endMs - beginMs >= remainingMs) return new Date(beginMs + remainingMs);
      remainingMs -= endMs - beginMs;
    }
    day = day.add({ days: 1 });
  }
}

function toDay(time: Date, timeZone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(time.getTime()).toZonedDateTimeISO(timeZone).toPlainDate();
}

function intervalsOf({ timeZone, hours }: WorkingCalendar, day: Temporal.PlainDate) {
  const weekday = WEEKDAYS[day.dayOfWeek - 1];
  if (weekday === undefined) throw new Error(`${day.toString()} has no weekday`);
  return (hours[weekday] ?? []).map(({ startMinute, endMinute }) => ({
    startMs: toInstantMs(day, startMinute, timeZone),
    endMs: toInstantMs(day, endMinute, timeZone),
  }));
}

/** A time that the clocks skip is an hour later, one that they repeat is the earlier of the two. */
function toInstantMs(day: Temporal.PlainDate, minuteOfDay: number, timeZone: string): number {
  return day.toPlainDateTime().add({ minutes: minuteOfDay }).toZonedDateTime(timeZone).epochMilliseconds;
}
