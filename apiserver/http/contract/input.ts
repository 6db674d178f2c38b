import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";
import type { ApiError } from "../errors.ts";
import type { Operation } from "./operation.ts";
import { idSchema, invalidRequest } from "./validate.ts";

/** Path parameters and query, as the operation's schemas let them through. */
export interface CheckedInput {
  params: unknown;
  query: unknown;
}

/**
 * Makes the function that reads path parameters and query of an operation's requests; what is wrong with them is
 * returned as the 400 that says so, for the guard speaks first.
 */
export function createInputReader(
  operation: Operation,
): (c: Context<HttpEnv>) => CheckedInput | { fault: ApiError } {
  const path = paramsSchema(operation);
  const search = operation.query ?? z.strictObject({});
  return (c) => {
    const sentPath = c.req.param();
    const params = path.safeParse(sentPath);
    if (!params.success) return { fault: invalidRequest("path", params.error.issues, sentPath) };
    const sentSearch = readSearch(c);
    const query = search.safeParse(sentSearch);
    if (!query.success) return { fault: invalidRequest("query", query.error.issues, sentSearch) };
    return { params: params.data, query: query.data };
  };
}

/** The one query parameter that this layer knows: what is only tried leaves no record of its key. */
export function isDryRun(query: unknown): boolean {
  return typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === true;
}

function paramsSchema(operation: Operation): z.ZodType {
  const names = [...operation.path.matchAll(/\{(.+?)\}/g)].map((match) => match[1] ?? "");
  return z.strictObject(
    Object.fromEntries(names.map((name) => [name, operation.params?.[name] ?? idSchema])),
  );
}

/** The parameters after the question mark; one that is there several times is a list. */
function readSearch(c: Context<HttpEnv>): Record<string, string | string[]> {
  if (!c.req.url.includes("?")) return {};
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] ?? "") : values,
    ]),
  );
}
