import type { Context, Next } from "hono";
import type { HttpEnv } from "../../http/env.ts";
import type { ErrorCode } from "../../http/errors.ts";
import { toApiError } from "../../http/handle-error.ts";

/** Codes of the OCI distribution specification 1.1, and UNAVAILABLE of Docker's registries. */
const CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: "UNAUTHORIZED",
  quota_exceeded: "DENIED",
  rate_limited: "TOOMANYREQUESTS",
  dependency_unavailable: "UNAVAILABLE",
};

/**
 * Adds `errors` to an error response, as the OCI distribution specification defines it, in addition to `error`:
 * `docker` and others show only the message in `errors`.
 */
export async function addRegistryErrors(c: Context<HttpEnv>, next: Next): Promise<void> {
  await next();
  if (c.error === undefined) return;
  const { code, message } = toApiError(c.error);
  const body = (await c.res.json()) as object;
  c.res = Response.json({ ...body, errors: [{ code: CODES[code] ?? "UNKNOWN", message }] }, c.res);
}
