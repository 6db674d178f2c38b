import type { Context, MiddlewareHandler } from "hono";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { RequestLimits } from "../limits.ts";
import { conditionSchema, type Operation } from "./operation.ts";

/** Names the route for log and metrics; responds with 400 to an address or a condition header that no operation accepts. */
export function checkRequest(
  { maxUrlBytes }: RequestLimits,
  { path }: Pick<Operation, "path">,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    c.set("route", path);
    if (c.req.url.length > maxUrlBytes)
      throw new ApiError("bad_request", `The address must not be longer than ${maxUrlBytes} bytes.`);
    requireValidConditions(c);
    if (c.req.url.includes("%00")) throw new ApiError("bad_request", "The address must not hold U+0000.");
    await next();
  };
}

function requireValidConditions(c: Context<HttpEnv>): void {
  for (const name of ["if-match", "if-none-match"]) {
    if (conditionSchema.optional().safeParse(c.req.header(name)).success) continue;
    throw new ApiError("bad_request", `The header ${name} must be at most 1024 characters of ASCII.`);
  }
}
