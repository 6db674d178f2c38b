import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { RESPONSE_HEADERS, type ResponseHeader } from "../contract/operation.ts";
import {
  DETAIL_CODES,
  ERROR_CODES,
  type ErrorCode,
  MAX_DETAILS,
  MAX_FIELD_LENGTH,
  MAX_MESSAGE_LENGTH,
  statusOf,
} from "../errors.ts";

const EXAMPLE_REQUEST_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

/** What each code means. */
const MESSAGES: Readonly<Record<ErrorCode, string>> = {
  bad_request: "The path, the query or the JSON of the body is malformed.",
  unauthorized: "The bearer token is missing or invalid.",
  forbidden: "The caller does not have the permission.",
  not_found: "The record does not exist, or the caller cannot see it.",
  method_not_allowed: "This path does not support this method.",
  not_acceptable: "Accept names a form of the response that is not offered; the message says which are.",
  conflict: "The record was changed concurrently, or its state does not allow this.",
  already_exists: "The name is taken.",
  cluster_not_ready: "The cluster has never been running.",
  cluster_not_running: "The cluster is not running.",
  operation_in_progress: "The first request with this Idempotency-Key is still in progress.",
  last_owner: "An organization keeps at least one owner.",
  organization_not_empty: "The organization still has clusters.",
  quota_below_usage: "The new quota is below the current usage.",
  managed_elsewhere: "The field belongs to another manager, such as a GitOps pipeline.",
  precondition_failed: "The record does not have the version in If-Match.",
  payload_too_large: "The body is larger than accepted.",
  unsupported_media_type: "The body must be sent as application/json.",
  validation_failed: "Fields of the body are invalid; `details` lists them.",
  quota_exceeded: "A quota of the organization would be exceeded.",
  idempotency_key_reused: "This Idempotency-Key was used with another body.",
  rate_limited: "Too many requests; retry after the time in Retry-After.",
  internal: "An internal error.",
  not_implemented: "No path of this API has this method.",
  dependency_unavailable: "A backend is not available; try again.",
  attachments_unavailable: "No store of attachments is configured, or it is not available.",
  event_harvester_disabled: "The live feed is disabled.",
};

/** The body of every response that is not 2xx or 3xx. */
export const errorSchema = z
  .object({
    error: z
      .object({
        code: z
          .enum(ERROR_CODES)
          .openapi({ description: "Stable and machine-readable; one code has one status." }),
        message: z
          .string()
          .max(MAX_MESSAGE_LENGTH)
          .openapi({ description: "A sentence for people; not stable." }),
        details: z
          .array(
            z
              .object({
                field: z
                  .string()
                  .max(MAX_FIELD_LENGTH)
                  .openapi({ description: "Path of the field.", example: "node_pools[0].vcpus" }),
                code: z.enum(DETAIL_CODES).openapi({ description: "The reason." }),
                message: z
                  .string()
                  .max(MAX_MESSAGE_LENGTH)
                  .openapi({ description: "A sentence that continues the name of the field." }),
              })
              .openapi("ErrorDetail", { description: "One error." }),
          )
          .max(MAX_DETAILS)
          .optional()
          .openapi({ description: "Every error of the request, at most 100." }),
        request_id: z.string().max(128).openapi({
          description: "The id of this request, as in X-Request-Id; quote it to support.",
        }),
      })
      .openapi("ErrorInfo", { description: "What went wrong." }),
  })
  .openapi("Error", { example: exampleOf("not_found") });

/** Registers headers and examples that responses share as components. */
export function registerParts(registry: OpenAPIHono["openAPIRegistry"]): void {
  const definitions = JSON.stringify(registry.definitions);
  const used = ERROR_CODES.filter((code) => definitions.includes(`/examples/${code}"`));
  for (const [name, header] of Object.entries(RESPONSE_HEADERS)) {
    registry.registerComponent("headers", name, header);
  }
  for (const code of used) {
    registry.registerComponent("examples", code, { summary: MESSAGES[code], value: exampleOf(code) });
  }
}

/** Headers by reference, as a response of the document has them. */
export function headerRefs(names: readonly ResponseHeader[]): Record<string, { $ref: string }> {
  return Object.fromEntries(
    names.map((name) => [
      name === "RedirectLocation" ? "Location" : name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );
}

/** One response per status of the codes, with one named example per code. */
export function describeErrors(codes: readonly ErrorCode[]) {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of ERROR_CODES) {
    if (!codes.includes(code)) continue;
    byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\`: ${MESSAGES[name]}`).join("\n\n"),
        headers: headerRefs([
          ...(status === 401 ? HEADERS_OF_ANY : COMMON_HEADERS),
          ...headersOfStatus(status),
        ]),
        content: {
          "application/json": {
            schema: errorSchema,
            examples: Object.fromEntries(
              names.map((name) => [name, { $ref: `#/components/examples/${name}` }]),
            ),
          },
        },
      },
    ]),
  );
}

const HEADERS_OF_ANY: readonly ResponseHeader[] = ["X-Request-Id"];
/** Without a valid credential there is no rate limit to report. */
export const COMMON_HEADERS: readonly ResponseHeader[] = [...HEADERS_OF_ANY, "RateLimit", "RateLimit-Policy"];

function headersOfStatus(status: number): ResponseHeader[] {
  if (status === 401) return ["WWW-Authenticate"];
  if (status === 412) return ["ETag"];
  return status === 409 || status === 429 || status === 503 ? ["Retry-After"] : [];
}

function exampleOf(code: ErrorCode) {
  const details =
    code === "validation_failed"
      ? { details: [{ field: "name", code: "required", message: "is required" }] }
      : {};
  return { error: { code, message: MESSAGES[code], ...details, request_id: EXAMPLE_REQUEST_ID } };
}
