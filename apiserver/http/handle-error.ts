import type { Context, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { KubeError } from "../../shared/kube/errors.ts";
import { describeDatabaseError, isDatabaseUnavailable } from "../db/errors.ts";
import { TokenRefusal } from "./authentication/token-refusal.ts";
import type { HttpEnv } from "./env.ts";
import {
  ApiError,
  clientDisconnected,
  dependencyUnavailable,
  type ErrorCode,
  type ErrorDetail,
} from "./errors.ts";

interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: readonly ErrorDetail[]; request_id: string };
}

/**
 * Turns whatever a handler threw into an error response. Only an ApiError reaches the client unchanged; an outage of
 * Postgres or of the Kubernetes API is 503; everything else is logged, and is 500 with one fixed message.
 */
export function handleError(error: unknown, c: Context<HttpEnv>): Response {
  const apiError = toApiError(error);
  if (apiError.status >= 500) logFailure(error, apiError, c);
  else if (apiError.cause instanceof TokenRefusal) logRefusal(apiError.cause, c);
  return respondWithError(apiError, c);
}

/** 404 for a path that no operation has; `findOther` replaces it when the path has operations of other methods. */
export function handleUnmatched(findOther?: MiddlewareHandler<HttpEnv>) {
  return async (c: Context<HttpEnv>): Promise<Response> => {
    c.res = respondWithError(new ApiError("not_found", "There is nothing at this address."), c);
    await findOther?.(c, async () => undefined);
    return c.res;
  };
}

/** 405 for a known path and a method that it does not have. */
export function handleUnknownMethod(c: Context<HttpEnv>, allowed: readonly string[]): Response {
  const allow = [...allowed].sort().join(", ");
  const error = new ApiError("method_not_allowed", `This address accepts ${allow}.`, {
    headers: { Allow: allow },
  });
  return respondWithError(error, c);
}

/** Maps an error to the one that the client receives. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof KubeError && error.isAborted) return clientDisconnected(error);
  // Checked first: both have the same socket errors as their cause.
  if (error instanceof KubeError && error.isUnavailable) {
    return dependencyUnavailable("The Kubernetes API", error, Math.ceil((error.retryAfterMs ?? 5000) / 1000));
  }
  if (isDatabaseUnavailable(error)) return dependencyUnavailable("The database", error);
  // Hono throws 4xx for a malformed request, and its timeout the 503 of addRoute.
  if (error instanceof HTTPException) {
    return error.status < 500
      ? new ApiError("bad_request", "The request is malformed.", { cause: error })
      : dependencyUnavailable("A part of the service", error);
  }
  return new ApiError("internal", "Something went wrong on our side; report the request id.", {
    cause: error,
  });
}

function respondWithError(error: ApiError, c: Context<HttpEnv>): Response {
  const body: ErrorBody = {
    error: {
      code: error.code,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      request_id: c.get("requestId"),
    },
  };
  if (error.retryAfterSeconds !== undefined) c.header("Retry-After", String(error.retryAfterSeconds));
  return c.json(body, error.status, error.headers);
}

/** A failed query carries its parameters in message and stack, so only the driver's own message is logged. */
export function logFailure(
  error: unknown,
  apiError: ApiError,
  c: Context<HttpEnv>,
  message = "request failed",
): void {
  const database = describeDatabaseError(error) ?? describeDatabaseError(apiError.cause);
  const cause = database ?? describeError(apiError.cause ?? error);
  const level = apiError.code === "internal" ? "error" : "warn";
  c.get("log")[level]({ requestId: c.get("requestId"), code: apiError.code, cause }, message);
}

/** For the installer, who sees in the response only the step that failed. */
function logRefusal({ message, facts }: TokenRefusal, c: Context<HttpEnv>): void {
  c.get("log").info({ requestId: c.get("requestId"), step: message, ...facts }, "token refused");
}

function describeError(error: unknown): { message: string; stack?: string | undefined } {
  if (!(error instanceof Error)) return { message: String(error) };
  if (error.name === "DrizzleQueryError") return { message: "a query failed" };
  return { message: error.message, stack: error.stack };
}
