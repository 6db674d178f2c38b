import { z } from "@hono/zod-openapi";
import type { core } from "zod";
import { findKnownFields } from "../../../shared/program/config.ts";
import { count, findNearest, suggestNearest } from "../../../shared/program/wording.ts";
import { ApiError, type DetailCode, type ErrorDetail, MAX_DETAILS, validationFailed } from "../errors.ts";

type Issue = core.$ZodIssue;

/** Array fields whose errors name the field as a whole, without the index of the entry. */
const UNINDEXED_FIELDS: ReadonlySet<string> = new Set(["authorized_cidrs"]);

/** Begins the message of an issue that `parseInput` made of unknown fields. */
const KNOWN_FIELDS = "known fields: ";

/** A message names so many values of an enumeration. */
const MAX_LISTED_VALUES = 12;

/** An identifier in a path, query or body: any GUID, converted to lower case. */
export const idSchema = z.guid().toLowerCase();

const IDS = /(?<![^/])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![^/])/gi;

const CAPITAL = /[A-F]/;

/** The text, or the path, with its UUIDs in lower case: they are equal in any case (RFC 9562 section 4). */
export function lowerCaseIds(text: string): string {
  return CAPITAL.test(text) ? text.replaceAll(IDS, (id) => id.toLowerCase()) : text;
}

/**
 * Parses as `schema.safeParse`, with issues for `toDetails`: of unknown fields, the message has the names that are known,
 * which an issue itself does not have.
 */
export function parseInput<S extends z.ZodType>(
  schema: S,
  input: unknown,
): z.ZodSafeParseResult<z.output<S>> {
  return schema.safeParse(input, { error: listKnownFields });
}

function listKnownFields(issue: core.$ZodRawIssue): string | undefined {
  const known = findKnownFields(issue);
  return known && KNOWN_FIELDS + known.join();
}

function suggestField(key: string, message: string): string {
  if (!message.startsWith(KNOWN_FIELDS)) return "";
  return suggestNearest(key, message.slice(KNOWN_FIELDS.length).split(","));
}

/** Formats a path as `node_pools[0].vcpus`; the whole body is `body`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") {
      if (UNINDEXED_FIELDS.has(text)) break;
      text += `[${part}]`;
    } else {
      text += text === "" ? String(part) : `.${String(part)}`;
    }
  }
  return text === "" ? "body" : text;
}

/**
 * Converts the issues of one failed parse into error details: one per field and code, in the order of the issues, and
 * 100 at most.
 * A schema sets the code of a custom rule by `params: { code }` in refine() or in a custom issue.
 */
export function toDetails(issues: readonly Issue[], input: unknown): [ErrorDetail, ...ErrorDetail[]] {
  const details = new Map<string, ErrorDetail>();
  for (const detail of describeIssues(issues, input)) {
    const key = `${detail.field}/${detail.code}`;
    if (!details.has(key)) details.set(key, detail);
    if (details.size === MAX_DETAILS) break;
  }
  const [first, ...others] = details.values();
  if (first === undefined) throw new Error("zod reported a failure without an issue");
  return [first, ...others];
}

/** 422 with the details of a failed parse of a body. */
export function invalidBody(issues: readonly Issue[], input: unknown): ApiError {
  return validationFailed(toDetails(issues, input));
}

/** 400 with the details of a failed parse of the path or the query. */
export function invalidRequest(where: "path" | "query", issues: readonly Issue[], input: unknown): ApiError {
  const details = toDetails(issues, input);
  const noun = where === "path" ? "path parameter" : "query parameter";
  const { field, message } = details[0];
  return new ApiError("bad_request", `The ${noun} ${field} ${message}${message.endsWith("?") ? "" : "."}`, {
    details,
  });
}

/** Lazily, so that the reader may stop at any detail. */
function* describeIssues(issues: readonly Issue[], input: unknown): Generator<ErrorDetail> {
  for (const issue of flattenIssues(issues)) yield* detailsOfIssue(issue, input);
}

function* flattenIssues(issues: readonly Issue[], prefix: readonly PropertyKey[] = []): Generator<Issue> {
  for (const issue of issues) {
    const path = [...prefix, ...issue.path];
    if (issue.code === "invalid_union" && issue.errors.length > 0) {
      yield* flattenIssues(closestBranch(issue.errors), path);
    } else if (issue.code === "invalid_element") yield* flattenIssues(issue.issues, path);
    else yield { ...issue, path };
  }
}

/** The branch of a union that matched furthest: its first issue is deepest, or is not just a wrong type. */
function closestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const distance = (branch: readonly Issue[]) => {
    const first = branch[0];
    if (first === undefined) return 0;
    return first.path.length * 2 + (first.code === "invalid_type" ? 0 : 1);
  };
  return branches.reduce((best, branch) => (distance(branch) > distance(best) ? branch : best));
}

/** Lazily too: an issue may name thousands of keys, and each is compared with every known field. */
function* detailsOfIssue(issue: Issue, input: unknown): Generator<ErrorDetail> {
  if (issue.code === "unrecognized_keys") {
    for (const key of issue.keys)
      yield {
        field: formatPath([...issue.path, key]),
        code: "unknown_field",
        message: `is not a field of this operation${suggestField(key, issue.message) || "; leave it out"}`,
      };
    return;
  }
  const field = formatPath(issue.path);
  if (issue.code !== "custom" && valueAt(input, issue.path) === undefined) {
    yield { field, code: "required", message: "is required" };
    return;
  }
  yield { field, ...describeIssue(issue, input) };
}

/** A sentence of the schema itself (`error` of a check) is taken; it begins with "must ". */
function describeIssue(issue: Issue, input: unknown): { code: DetailCode; message: string } {
  const described = describeKnown(issue, input);
  return issue.message.startsWith("must ") ? { ...described, message: issue.message } : described;
}

function describeKnown(issue: Issue, input: unknown): { code: DetailCode; message: string } {
  switch (issue.code) {
    case "invalid_type":
      return { code: "invalid_type", message: `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}` };
    case "too_big":
      return describeBound(issue.origin, Number(issue.maximum), "most");
    case "too_small":
      return describeBound(issue.origin, Number(issue.minimum), "least");
    case "not_multiple_of":
      return { code: "out_of_range", message: `must be a multiple of ${issue.divisor}` };
    case "invalid_format":
      return describeFormat(issue.format);
    case "invalid_value":
      return {
        code: "invalid_enum",
        message: `must be ${listValues(issue.values.map(String), valueAt(input, issue.path))}`,
      };
    case "custom":
      return { code: customCode(issue.params?.code), message: issue.message };
    case "invalid_union":
      return { code: "invalid_type", message: "must have one of the forms in the API reference" };
    default:
      return { code: "invalid_format", message: "must have the form in the API reference" };
  }
}

const TYPES: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  null: "null",
  object: "an object",
  record: "an object",
  string: "a string",
};

/** From a long list, those that are most like what was sent, or the first ones. */
function listValues(values: readonly string[], sent: unknown): string {
  if (values.length === 1) return String(values[0]);
  if (values.length <= MAX_LISTED_VALUES) return `one of ${values.join(", ")}`;
  const nearest = typeof sent === "string" ? findNearest(sent, values) : [];
  const named = nearest.length > 0 ? nearest : values.slice(0, MAX_LISTED_VALUES);
  return `one of ${values.length} values in the API reference, as ${named.join(", ")}`;
}

function describeBound(origin: string, bound: number, side: "most" | "least") {
  if (origin === "string") {
    const code: DetailCode = side === "most" ? "too_long" : "too_short";
    return { code, message: describeAmount(bound, side, "character") };
  }
  if (origin === "array" || origin === "set" || origin === "record" || origin === "map") {
    const code: DetailCode = side === "most" ? "too_many" : "too_short";
    return { code, message: describeAmount(bound, side, "entry", "entries") };
  }
  const code: DetailCode = "out_of_range";
  return { code, message: `must be at ${side} ${bound}` };
}

function describeAmount(bound: number, side: "most" | "least", noun: string, plural?: string): string {
  if (bound === 1 && side === "least") return "must not be empty";
  return `must have at ${side} ${count(bound, noun, plural)}`;
}

function describeFormat(format: string): { code: DetailCode; message: string } {
  if (format === "cidrv4" || format === "cidrv6") {
    return { code: "invalid_cidr", message: "must be in CIDR notation, as 192.0.2.0/24" };
  }
  const names: Record<string, string> = {
    datetime: "a time, as 2026-11-21T09:00:00Z",
    email: "an e-mail address",
    guid: "a UUID",
  };
  const name = names[format];
  return {
    code: "invalid_format",
    message: name === undefined ? "must have the form in the API reference" : `must be ${name}`,
  };
}

function customCode(code: unknown): DetailCode {
  return typeof code === "string" ? (code as DetailCode) : "invalid_format";
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}
