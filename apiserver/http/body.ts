import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { HttpEnv } from "./env.ts";
import { ApiError, type ErrorDetail, validationFailed } from "./errors.ts";
import { formatPath, invalidBody } from "./validate.ts";

/** Largest body that is read: 1 MiB. */
export const MAX_BODY_BYTES = 1_048_576;

export interface ReadBody<T> {
  value: T;
  /** The bytes as sent, for comparing a repeated request with the first one. */
  text: string;
}

/**
 * Reads and validates a JSON body. Throws, in this order: 415 for another or no media type, 413 above 1 MiB,
 * 400 for an absent or unparsable body, 422 with details for one that breaks the schema.
 */
export async function readJsonBody<S extends z.ZodType>(
  c: Context<HttpEnv>,
  schema: S,
): Promise<ReadBody<z.output<S>>> {
  const absent = isAbsent(c);
  requireJson(c.req.header("content-type"), absent);
  const text = await readText(c);
  if (text.trim() === "") throw new ApiError("bad_request", "This operation needs a JSON body.");
  const input = parseJson(text);
  requireStorableText(input, text);
  const parsed = schema.safeParse(input);
  if (!parsed.success) throw invalidBody(parsed.error.issues, input);
  return { value: parsed.data, text };
}

function isAbsent(c: Context<HttpEnv>): boolean {
  const length = c.req.header("content-length");
  return c.req.header("transfer-encoding") === undefined && (length === undefined || length === "0");
}

function requireJson(contentType: string | undefined, absent: boolean): void {
  if (contentType === undefined && absent) return;
  const essence = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (essence === "application/json") return;
  throw new ApiError("unsupported_media_type", "The body must be sent as Content-Type: application/json.", {
    headers: { Accept: "application/json" },
  });
}

async function readText(c: Context<HttpEnv>): Promise<string> {
  const length = c.req.header("content-length");
  if (length === undefined) return readMetered(c.req.raw.body);
  if (Number(length) > MAX_BODY_BYTES) throw tooLarge();
  return c.req.text();
}

/** A chunked body tells no length in advance: it is counted while it comes in, and left at the limit. */
async function readMetered(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function tooLarge(): ApiError {
  return new ApiError("payload_too_large", "The body must not be larger than 1 MiB.", {
    headers: { Connection: "close" },
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("bad_request", "The body is not valid JSON.");
  }
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
