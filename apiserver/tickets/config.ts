import { z } from "zod";
import { jsonText } from "../../shared/program/config.ts";

const MAX_TARGET_HOURS = 720;
const MAX_HOLIDAYS = 1000;
const MAX_INTERVALS_A_DAY = 8;
/** A week has at least this much, so that no target lies years ahead. */
const MIN_MINUTES_A_WEEK = 60;
const MINUTES_A_DAY = 24 * 60;

/** In the order of ISO 8601: the first is day 1. */
export const WEEKDAYS = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Working time within a day, in minutes of the wall clock since midnight; 1440 is the next midnight. */
export interface WorkingInterval {
  startMinute: number;
  endMinute: number;
}

/** When the staff works. Times are those of the wall clock in the time zone. */
export interface WorkingCalendar {
  /** A name of the IANA time zone database. */
  timeZone: string;
  /** In order and without overlap; a day that is not named is free. */
  hours: Readonly<Partial<Record<Weekday, readonly WorkingInterval[]>>>;
  /** Free days, as `YYYY-MM-DD`. */
  holidays: readonly string[];
}

/** How soon a ticket of one severity is to be answered. */
export interface ResponseTarget {
  /** Until the first response. */
  firstHours: number;
  /** Until each further one. */
  nextHours: number;
  /** Which hours count: all, or those of the working calendar. */
  clock: "always" | "working";
}

/** When the platform's staff is to answer tickets, by severity. */
export interface ResponseTargets {
  critical: ResponseTarget;
  high: ResponseTarget;
  medium: ResponseTarget;
  low: ResponseTarget;
  /** Absent: every target counts all hours. */
  calendar?: WorkingCalendar | undefined;
}

const always = (firstHours: number, nextHours: number): ResponseTarget => ({
  firstHours,
  nextHours,
  clock: "always",
});

export const DEFAULT_RESPONSE_TARGETS: ResponseTargets = {
  critical: always(1, 4),
  high: always(4, 8),
  medium: always(12, 24),
  low: always(24, 48),
};

const INTERVAL = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))$/;

const intervalSchema = z.string().transform((text, context): WorkingInterval => {
  const parts = INTERVAL.exec(text)
    ?.slice(1)
    .filter((part) => part !== undefined);
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = parts?.map(Number) ?? [];
  const interval = { startMinute: fromHour * 60 + fromMinute, endMinute: toHour * 60 + toMinute };
  if (interval.endMinute > interval.startMinute && interval.endMinute <= MINUTES_A_DAY) return interval;
  context.addIssue({ code: "custom", message: `${text} is no time of a day such as 09:00-17:30` });
  return z.NEVER;
});

const hoursSchema = z.partialRecord(
  z.enum(WEEKDAYS),
  z
    .array(intervalSchema)
    .max(MAX_INTERVALS_A_DAY)
    .refine(isInOrder, "the times of a day must be in order and must not overlap"),
);

const calendarSchema = z.strictObject({
  timeZone: z.string().refine(isTimeZone, "must be a time zone of the IANA database, as Europe/Vienna"),
  hours: hoursSchema.refine(
    (hours) => minutesOf(hours) >= MIN_MINUTES_A_WEEK,
    "must have an hour a week at least",
  ),
  holidays: z.array(z.iso.date()).max(MAX_HOLIDAYS).default([]),
});

const targetHours = z.number().positive().max(MAX_TARGET_HOURS);
const targetSchema = z.strictObject({
  firstHours: targetHours,
  nextHours: targetHours,
  clock: z.enum(["always", "working"]).default("always"),
});

/** Severities that are not named keep their default. */
export const responseTargetsSchema = z
  .strictObject({
    critical: targetSchema.default(DEFAULT_RESPONSE_TARGETS.critical),
    high: targetSchema.default(DEFAULT_RESPONSE_TARGETS.high),
    medium: targetSchema.default(DEFAULT_RESPONSE_TARGETS.medium),
    low: targetSchema.default(DEFAULT_RESPONSE_TARGETS.low),
    calendar: calendarSchema.optional(),
  })
  .refine(
    ({ calendar, ...targets }) =>
      calendar !== undefined || Object.values(targets).every(({ clock }) => clock === "always"),
    "a target with the clock `working` needs a calendar",
  )
  .transform((targets): ResponseTargets => targets);

function isInOrder(intervals: readonly WorkingInterval[]): boolean {
  return intervals.every(
    ({ startMinute }, index) => index === 0 || startMinute >= (intervals[index - 1]?.endMinute ?? 0),
  );
}

function minutesOf(hours: WorkingCalendar["hours"]): number {
  const intervals = Object.values(hours).flat();
  return intervals.reduce((sum, { startMinute, endMinute }) => sum + endMinute - startMinute, 0);
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const MAX_COUNT = 1_000_000;
const MAX_BYTES = 2 ** 50;

/** What the members of one organization may have in tickets, and add to them within 24 hours or to one ticket. */
export interface TicketLimits {
  /** Those that are not closed. */
  openTickets: number;
  ticketsPerDay: number;
  messagesPerDay: number;
  messagesPerTicket: number;
  attachmentsPerDay: number;
  attachmentsPerTicket: number;
  attachmentBytesPerTicket: number;
  attachmentBytes: number;
}

export const DEFAULT_TICKET_LIMITS: TicketLimits = {
  openTickets: 500,
  ticketsPerDay: 100,
  messagesPerDay: 1000,
  messagesPerTicket: 1000,
  attachmentsPerDay: 200,
  attachmentsPerTicket: 100,
  attachmentBytesPerTicket: 524_288_000,
  attachmentBytes: 10_737_418_240,
};

const countLimit = (usual: number) => z.int().min(0).max(MAX_COUNT).default(usual);
const bytesLimit = (usual: number) => z.int().min(0).max(MAX_BYTES).default(usual);
/** Limits that are not named keep their default. */
const ticketLimitsSchema = z.strictObject({
  openTickets: countLimit(DEFAULT_TICKET_LIMITS.openTickets),
  ticketsPerDay: countLimit(DEFAULT_TICKET_LIMITS.ticketsPerDay),
  messagesPerDay: countLimit(DEFAULT_TICKET_LIMITS.messagesPerDay),
  messagesPerTicket: countLimit(DEFAULT_TICKET_LIMITS.messagesPerTicket),
  attachmentsPerDay: countLimit(DEFAULT_TICKET_LIMITS.attachmentsPerDay),
  attachmentsPerTicket: countLimit(DEFAULT_TICKET_LIMITS.attachmentsPerTicket),
  attachmentBytesPerTicket: bytesLimit(DEFAULT_TICKET_LIMITS.attachmentBytesPerTicket),
  attachmentBytes: bytesLimit(DEFAULT_TICKET_LIMITS.attachmentBytes),
});

/** When the platform's staff is to answer tickets, and how much tenants may write and attach. */
export const ticketVariables = z
  .object({
    MARINA_RESPONSE_TARGETS: jsonText(responseTargetsSchema).default(DEFAULT_RESPONSE_TARGETS),
    MARINA_TICKET_LIMITS: jsonText(ticketLimitsSchema).default(DEFAULT_TICKET_LIMITS),
  })
  .transform((env) => ({
    responseTargets: env.MARINA_RESPONSE_TARGETS,
    ticketLimits: env.MARINA_TICKET_LIMITS,
  }));
