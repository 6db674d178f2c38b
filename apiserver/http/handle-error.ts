import type { Context, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { KubeError } from "../../shared/kube/errors.ts";
import { describeDatabaseError, isDatabaseUnavailable } from "../db/errors.ts";
import type { HttpEnv } from "./env.ts";
import { ApiError, dependencyUnavailable, type ErrorCode, type ErrorDetail } from "./errors.ts";

interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: readonly ErrorDetail[]; request_id: string };
}

/**
 * Turns whatever a handler threw into the error body. Only an ApiError speaks for itself; an outage of Postgres or of
 * the Kubernetes API is 503; everything else is logged and answered with one fixed sentence.
 */
export function handleError(error: unknown, c: Context<HttpEnv>): Response {
  const apiError = toApiError(error);
  if (apiError.status >= 500) logFailure(error, apiError, c);
  return answerError(apiError, c);
}

/**
 * The answer for a path that no operation has; `findOther` puts another in its place when the path has operations of
 * other methods.
 */
export function handleUnmatched(findOther?: MiddlewareHandler<HttpEnv>) {
  return async (c: Context<HttpEnv>): Promise<Response> => {
    c.res = answerError(new ApiError("not_found", "There is nothing at this address."), c);
    await findOther?.(c, async () => undefined);
    return c.res;
  };
}

/** The answer for a known path and a method that it does not have. */
export function handleUnknownMethod(c: Context<HttpEnv>, allowed: readonly string[]): Response {
  const allow = [...allowed].sort().join(", ");
  const error = new ApiError("method_not_allowed", `This address answers ${allow}.`, {
    headers: { Allow: allow },
  });
  return answerError(error, c);
}

/** Maps an error to the one that a client gets to see. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // First, for both have the same socket errors as their cause.
  if (error instanceof KubeError && error.isUnavailable) {
    return dependencyUnavailable("The Kubernetes API", error, Math.ceil((error.retryAfterMs ?? 5000) / 1000));
  }
  if (isDatabaseUnavailable(error)) return dependencyUnavailable("The database", error);
  if (error instanceof HTTPException && error.status < 500) {
    return new ApiError("bad_request", "The request is malformed.", { cause: error });
  }
  return new ApiError("internal", "Something went wrong on our side; the request id tells us what.", {
    cause: error,
  });
}

function answerError(error: ApiError, c: Context<HttpEnv>): Response {
  const body: ErrorBody = {
    error: {
      code: error.code,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      request_id: c.get("requestId"),
    },
  };
  const { retryAfterSeconds } = error;
  const again = retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) };
  return c.json(body, error.status, { ...error.headers, ...again });
}

/** A failed query carries its parameters in the message and in the stack: only the driver's own words are logged. */
function logFailure(error: unknown, apiError: ApiError, c: Context<HttpEnv>): void {
  const database = describeDatabaseError(error) ?? describeDatabaseError(apiError.cause);
  const cause = database ?? describeError(apiError.cause ?? error);
  const level = apiError.code === "internal" ? "error" : "warn";
  c.get("log")[level]({ requestId: c.get("requestId"), code: apiError.code, cause }, "request failed");
}

function describeError(error: unknown): { message: string; stack?: string | undefined } {
  if (!(error instanceof Error)) return { message: String(error) };
  if (error.name === "DrizzleQueryError") return { message: "a query failed" };
  return { message: error.message, stack: error.stack };
}
