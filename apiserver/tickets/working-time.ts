import { Temporal } from "@js-temporal/polyfill";
import { WEEKDAYS, type WorkingCalendar } from "../response-targets.ts";

const MS_PER_MINUTE = 60_000;

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
