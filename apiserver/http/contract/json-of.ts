import type { Context, TypedResponse } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { JSONParsed } from "hono/utils/types";
import type { HttpEnv } from "../env.ts";

declare const VALUE: unique symbol;

/** The JSON text of a `T`. */
export type JsonOf<T> = string & { readonly [VALUE]: T };

export function toJson<T>(value: T): JsonOf<T> {
  return JSON.stringify(value) as JsonOf<T>;
}

/** The answer that `c.json` gives, with a text that was made before. */
export function answerJson<T, S extends ContentfulStatusCode>(
  c: Context<HttpEnv>,
  json: JsonOf<T>,
  status: S,
  headers: Record<string, string>,
): Response & TypedResponse<JSONParsed<T>, S, "json"> {
  const answer: Response = c.body(json, status, { "Content-Type": "application/json", ...headers });
  return answer as Response & TypedResponse<JSONParsed<T>, S, "json">;
}
