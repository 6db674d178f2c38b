import "@hono/zod-openapi";
import { isDeepStrictEqual } from "node:util";
import { z } from "@hono/zod-openapi";
import transliterate from "@sindresorhus/transliterate";
import { readableNameRule, text } from "../../../shared/crd/fields.ts";
import { withRules } from "../../../shared/crd/rule.ts";
import { type ErrorDetail, validationFailed } from "../errors.ts";
import { lowerCaseIds } from "./validate.ts";

/** The description of a field whose value is ignored. */
export const IGNORED = "Read-only: accepted and ignored.";

/** The description of a field whose value is compared. */
export const IMMUTABLE = "Immutable: only the current value is accepted.";

/**
 * A field that a GET returns and no PUT can change: any value is accepted and ignored, so that a client can send back
 * what it read. The document gives it the type that it has in the response.
 */
export const readOnlyField = z.unknown().optional().openapi({ description: IGNORED });

const EXAMPLE_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const EXAMPLE_TIME = "2026-11-21T09:00:00.000Z";

export const MAX_EMAIL_LENGTH = 254;

/** The most characters of a time, whatever its offset and its fraction of a second. */
export const MAX_TIME_LENGTH = 64;

/** An identifier in a response. */
export function idField(description: string) {
  return z.guid().openapi({ description, example: EXAMPLE_ID });
}

/** A time in a response: UTC, milliseconds. */
export function timestampField(description: string) {
  return z.iso.datetime().openapi({ description, example: EXAMPLE_TIME });
}

/** A time in a query or a body: RFC 3339 with any offset. */
export const timeSchema = z.iso
  .datetime({ offset: true })
  .max(MAX_TIME_LENGTH)
  .transform((text) => new Date(text));

/** The dot-atoms and labels of RFC 5322 (section 3.4.1) and RFC 1034; the last label begins with a letter, as `xn--p1ai` does. */
const EMAIL =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([A-Za-z\d]([A-Za-z\d-]{0,61}[A-Za-z\d])?\.)+[A-Za-z]([A-Za-z\d-]{0,61}[A-Za-z\d])?$/;

/** An e-mail address in a request, in ASCII. */
export const emailSchema = z.email({ pattern: EMAIL }).max(MAX_EMAIL_LENGTH);

/** Text in a response, with the most characters it can have. */
export function textField(maxLength: number, description: string, example?: string) {
  return z
    .string()
    .max(maxLength)
    .openapi({ description, ...(example === undefined ? {} : { example }) });
}

/** A whole number in a response that counts something. */
export function countField(maximum: number, description: string, example?: number) {
  return z
    .int()
    .min(0)
    .max(maximum)
    .openapi({ description, ...(example === undefined ? {} : { example }) });
}

/** A field that a PUT may repeat but not change; the handler checks it by `requireUnchanged` or `findImmutableChanges`. */
export function immutableField<T extends z.ZodType>(schema: T) {
  return schema.optional().openapi({ description: IMMUTABLE });
}

/** The detail `immutable` for every field of `record` that was sent with another value. */
export function findImmutableChanges<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): ErrorDetail[] {
  return Object.keys(record).flatMap((field): ErrorDetail[] => {
    const value = typeof sent[field] === "string" ? lowerCaseIds(sent[field]) : sent[field];
    if (value === undefined || isDeepStrictEqual(value, record[field])) return [];
    return [{ field, code: "immutable", message: "cannot be changed" }];
  });
}

/** Throws 422 with the details of `findImmutableChanges`, if there are any. */
export function requireUnchanged<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): void {
  const [first, ...others] = findImmutableChanges(record, sent);
  if (first !== undefined) throw validationFailed([first, ...others]);
}

const HIDDEN = "\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029";

/** One line of text with a visible character, for clients: every name that it refuses is refused here too. */
export const NAME_PATTERN = `^[^${HIDDEN}]*[^\\s${HIDDEN}][^${HIDDEN}]*$`;

/** A name for people in a body: 1 to `maxLength` characters (code points), on one line and not blank. */
export function nameField(maxLength: number, description: string, example?: string) {
  return withRules(text(1, maxLength, description), [readableNameRule]).openapi({
    pattern: NAME_PATTERN,
    ...(example === undefined ? {} : { example }),
  });
}

/** `2026-11-21T09:00:00Z`: how Kubernetes writes every metav1.Time. */
const SECONDS_LENGTH = 20;

/**
 * A time of a custom resource (RFC 3339) as REST writes it, in UTC with milliseconds; null for none. The form that
 * Kubernetes itself writes is not parsed: a page of 50 clusters has some hundred of them.
 */
export function toTimestamp(time: string | undefined): string | null {
  if (time === undefined) return null;
  if (time.length === SECONDS_LENGTH && time.endsWith("Z")) return `${time.slice(0, -1)}.000Z`;
  return new Date(time).toISOString();
}

/**
 * The slug of a name: lower-case letters and digits, accents dropped, other letters of alphabets in those of ASCII, everything
 * else one hyphen, at most `maxLength` characters. Empty for a name without any such letter (`日本`).
 */
export function slugOf(name: string, maxLength: number): string {
  return transliterate(name.normalize("NFKD").replaceAll(/\p{Mark}/gu, ""))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, maxLength)
    .replace(/-$/, "");
}

/**
 * Formats of VAT identification numbers by the prefixes of the European Union, as its VIES service accepts them; XI is
 * Northern Ireland. In capitals and without spaces.
 */
const VAT_ID_FORMATS: Readonly<Record<string, string>> = {
  AT: "U\\d{8}",
  BE: "[01]\\d{9}",
  BG: "\\d{9,10}",
  CY: "\\d{8}[A-Z]",
  CZ: "\\d{8,10}",
  DE: "\\d{9}",
  DK: "\\d{8}",
  EE: "\\d{9}",
  EL: "\\d{9}",
  ES: "[A-Z0-9]\\d{7}[A-Z0-9]",
  FI: "\\d{8}",
  FR: "[A-HJ-NP-Z0-9]{2}\\d{9}",
  HR: "\\d{11}",
  HU: "\\d{8}",
  IE: "(?:\\d[A-Z0-9+*]\\d{5}[A-Z]|\\d{7}[A-Z]{1,2})",
  IT: "\\d{11}",
  LT: "(?:\\d{9}|\\d{12})",
  LU: "\\d{8}",
  LV: "\\d{11}",
  MT: "\\d{8}",
  NL: "[A-Z0-9+*]{10}\\d{2}",
  PL: "\\d{10}",
  PT: "\\d{9}",
  RO: "\\d{2,10}",
  SE: "\\d{12}",
  SI: "\\d{8}",
  SK: "\\d{10}",
  XI: "(?:\\d{9}|\\d{12}|(?:GD|HA)\\d{3})",
};

/**
 * VAT ids of countries outside it: the United Kingdom, Switzerland and Norway, as their tax authorities publish them.
 */
const OTHER_VAT_ID_FORMATS: Readonly<Record<string, string>> = {
  GB: "(?:\\d{9}|\\d{12}|(?:GD|HA)\\d{3})",
  CH: "E-?\\d{3}\\.?\\d{3}\\.?\\d{3}(?: ?(?:MWST|TVA|IVA))?",
  NO: "\\d{9}(?:MVA)?",
};

const VAT_ID_BY_PREFIX = new Map(
  Object.entries({ ...VAT_ID_FORMATS, ...OTHER_VAT_ID_FORMATS }).map(([prefix, format]) => [
    prefix,
    new RegExp(`^${prefix}${format}$`),
  ]),
);

/** Whether a number has the form of the VAT ids of the country that it begins with; an unknown country has none. */
export function isVatId(text: string): boolean {
  return VAT_ID_BY_PREFIX.get(text.slice(0, 2))?.test(text) === true;
}

/** Whether a number is a VAT id of a country, by ISO 3166-1: those of Greece begin with EL. */
export function isVatIdOf(country: string, text: string): boolean {
  return text.startsWith(country === "GR" ? "EL" : country) && isVatId(text);
}

const VAT_ID_FORMS = Object.entries(VAT_ID_FORMATS).map(([prefix, format]) => prefix + format);
const VAT_ID_PREFIXES = Object.keys(VAT_ID_FORMATS).map((prefix) =>
  prefix.replaceAll(/./g, (letter) => `[${letter}${letter.toLowerCase()}]`),
);
const LINE_CHARACTER = "[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]";

/**
 * A VAT id: after a prefix of the European Union the form of that country, otherwise one line of text. Whether the
 * number was ever issued is not checked.
 */
export const VAT_ID_PATTERN = new RegExp(
  `^(?:${VAT_ID_FORMS.join("|")}|(?!${VAT_ID_PREFIXES.join("|")})\\S${LINE_CHARACTER}*)$`,
);
