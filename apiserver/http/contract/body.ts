import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { core } from "zod";
import type { HttpEnv } from "../env.ts";
import { ApiError, type ErrorDetail, MAX_DETAILS, validationFailed } from "../errors.ts";
import { type Allocation, type ByteBudget, findConsumers } from "./byte-budget.ts";
import { parseJson } from "./json-text.ts";
import type { TenantRequest } from "./tenant-slot.ts";
import { formatPath, invalidBody, parseInput } from "./validate.ts";

/** JSON is UTF-8 (RFC 8259 section 8.1); other parameters have no meaning and are ignored. */
const JSON_TYPE = /^application\/json *(;(?! *charset *=)[^;]*|; *charset *= *("utf-8"|utf-8) *)*$/i;

/** Bodies up to this size that have arrived are counted by their Content-Length and read at once; others as they arrive. */
const SMALL_BYTES = 4096;

/** What a part of a body takes besides its bytes, until all have come: its sender decides how small they are. */
const PART_BYTES = 256;

/** The limits of one body and of all bodies of this process. */
interface BodyLimits {
  maxBytes: number;
  budget: ByteBudget;
  /** For whose slot the parsed body waits before it is used: until then its bytes count. */
  request?: Pick<TenantRequest, "acquireSlot">;
}

interface ReadBody<T> {
  value: T;
  /** The JSON as sent, for comparing a repeated request with the first one. */
  json: unknown;
}

/**
 * Reads and validates a JSON body. Throws, in this order: 415 for another or no media type, 413 above
 * `maxBytes`, 429 and 503 while bodies beyond the caller's share or the budget of this process are arriving, 400 for an
 * absent or unparsable body, 422 with details for one that breaks the schema.
 */
export async function readJsonBody<S extends z.ZodType>(
  c: Context<HttpEnv>,
  schema: S,
  limits: BodyLimits,
): Promise<ReadBody<z.output<S>>> {
  const absent = isAbsent(c);
  requireJson(c.req.header("content-type"), absent);
  requireNoEncoding(c.req.header("content-encoding"));
  return readText(c, limits, (text) => parseBody(schema, text));
}

/**
 * Reads a body of any media type as UTF-8 and parses it within the budget. Call it once the credential was accepted, so
 * that no byte is kept for a client without one. Throws 413, 429, 503, 400 as readJsonBody, and what `parse` and
 * waiting for the slot throw.
 */
export async function readText<T>(
  c: Context<HttpEnv>,
  { maxBytes, budget, request }: BodyLimits,
  parse: (text: string) => T,
): Promise<T> {
  const allocation = budget.open(findConsumers(c));
  try {
    const parsed = parse(isAbsent(c) ? "" : await decodeBody(c, maxBytes, allocation));
    allocation.complete();
    await request?.acquireSlot();
    return parsed;
  } finally {
    allocation.close();
  }
}

/** Validates the text of a body. Its work is bounded by the number of values and faults. Throws 400 or 422. */
export function parseBody<S extends z.ZodType>(schema: S, text: string): ReadBody<z.output<S>> {
  if (text.trim() === "") throw new ApiError("bad_request", "This operation needs a JSON body.");
  const input = parseJson(text);
  requireStorableText(input, text);
  const parsed = parseInput(schema, input);
  const issues = [...findPrototypeKeys(input), ...(parsed.error?.issues ?? [])];
  if (!parsed.success || issues.length > 0) throw invalidBody(issues, input);
  return { value: parsed.data, json: input };
}

function isAbsent(c: Context<HttpEnv>): boolean {
  const length = c.req.header("content-length");
  return c.req.header("transfer-encoding") === undefined && (length === undefined || length === "0");
}

function requireJson(contentType: string | undefined, absent: boolean): void {
  if (contentType === undefined && absent) return;
  if (contentType !== undefined && JSON_TYPE.test(contentType)) return;
  throw new ApiError(
    "unsupported_media_type",
    "The body must be sent as Content-Type: application/json, in UTF-8.",
    {
      headers: { Accept: "application/json" },
    },
  );
}

/** A compressed body could be a thousand times larger than its bytes. */
function requireNoEncoding(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || contentEncoding.trim().toLowerCase() === "identity") return;
  throw new ApiError("unsupported_media_type", "The body must be sent without a Content-Encoding.", {
    headers: { "Accept-Encoding": "identity" },
  });
}

/** Invalid UTF-8 is refused rather than replaced, so that the same bytes are the same text to every reader. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

async function decodeBody(c: Context<HttpEnv>, maxBytes: number, allocation: Allocation): Promise<string> {
  const length = c.req.header("content-length");
  if (Number(length) > maxBytes) throw tooLarge(maxBytes);
  const hasArrived = c.env?.incoming?.complete !== false;
  const isSmall = hasArrived && length !== undefined && Number(length) <= SMALL_BYTES;
  if (isSmall) allocation.add(Number(length));
  const bytes = await (isSmall ? readWhole(c) : readMetered(c.req.raw.body, maxBytes, allocation));
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ApiError("bad_request", "The body is not valid UTF-8.");
  }
}

/** The HTTP parser accepts no more bytes than Content-Length announces. */
async function readWhole(c: Context<HttpEnv>): Promise<Uint8Array> {
  try {
    return new Uint8Array(await c.req.arrayBuffer());
  } catch (error) {
    throw endedEarly(error);
  }
}

/** Counts as it arrives: a chunked body announces no length, and an announced one may never come. */
async function readMetered(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  allocation: Allocation,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      allocation.add(chunk.byteLength + PART_BYTES);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw endedEarly(error);
  }
  return Buffer.concat(chunks);
}

function endedEarly(cause: unknown): ApiError {
  return new ApiError("bad_request", "The body ended before it was complete.", { cause });
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError("payload_too_large", `The body must not be larger than ${maxBytes} bytes.`, {
    headers: { Connection: "close" },
  });
}

/** Postgres stores neither U+0000 nor half a surrogate pair; both can only come as a \u escape. */
function requireStorableText(input: unknown, text: string): void {
  if (!text.includes("\\u")) return;
  const details: ErrorDetail[] = [];
  collectUnstorable(input, [], details);
  const [first, ...others] = details;
  if (first !== undefined) throw validationFailed([first, ...others]);
}

function collectUnstorable(value: unknown, path: PropertyKey[], details: ErrorDetail[]): void {
  if (details.length === MAX_DETAILS) return;
  if (typeof value === "string") {
    if (isStorable(value)) return;
    details.push({ field: formatPath(path), code: "invalid_format", message: "must be text without U+0000" });
  } else if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) collectUnstorable(entry, [...path, index], details);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      collectUnstorable(isStorable(key) ? "" : "\0", [...path, "key"], details);
      collectUnstorable(entry, [...path, key], details);
    }
  }
}

function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

const KEY = "__proto__";

/**
 * An issue for each object of parsed JSON that has the key `__proto__`. zod leaves it out of maps and of objects with
 * unknown fields without a word, so that a caller would believe that it was stored.
 */
function findPrototypeKeys(input: unknown, path: readonly PropertyKey[] = []): core.$ZodIssue[] {
  if (typeof input !== "object" || input === null) return [];
  if (Array.isArray(input))
    return input.flatMap((entry, index) => findPrototypeKeys(entry, [...path, index]));
  const inside = Object.entries(input).flatMap(([key, value]) => findPrototypeKeys(value, [...path, key]));
  if (!Object.hasOwn(input, KEY)) return inside;
  return [{ code: "unrecognized_keys", keys: [KEY], path: [...path], message: "" }, ...inside];
}
