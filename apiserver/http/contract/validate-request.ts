import { z } from "@hono/zod-openapi";
import { zValidator } from "@hono/zod-validator";
import type { MiddlewareHandler } from "hono";
import { needsMembership } from "../authorization/guard.ts";
import type { HttpEnv } from "../env.ts";
import type { Operation } from "./operation.ts";
import { idSchema, invalidRequest } from "./validate.ts";

/** Responds with 400 to a malformed organization id, before the membership is looked up by it. */
export function validateOrganizationId({ access }: Operation): MiddlewareHandler<HttpEnv> {
  return validateParams(z.object(needsMembership(access) ? { orgID: idSchema } : {}));
}

/** Responds with 400 to malformed path parameters: UUIDs, unless the operation has a schema of its own for one. */
export function validatePath(operation: Operation): MiddlewareHandler<HttpEnv> {
  const names = [...operation.path.matchAll(/\{(.+?)\}/g)].map((match) => match[1] ?? "");
  return validateParams(
    z.strictObject(Object.fromEntries(names.map((name) => [name, operation.params?.[name] ?? idSchema]))),
  );
}

function validateParams(schema: z.ZodType): MiddlewareHandler<HttpEnv> {
  return zValidator("param", schema, (result) => {
    if (!result.success) throw invalidRequest("path", result.error.issues, result.data);
  });
}

/** Responds with 400 to malformed or unknown query parameters. A parameter that is sent several times is a list. */
export function validateQuery({ query = z.strictObject({}) }: Operation): MiddlewareHandler<HttpEnv> {
  return zValidator("query", query, (result) => {
    if (!result.success) throw invalidRequest("query", result.error.issues, result.data);
  });
}
