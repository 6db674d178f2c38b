import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { Access } from "../authorization/guard.ts";
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

/** What each code means, in a sentence. */
const MESSAGES: Readonly<Record<ErrorCode, string>> = {
  bad_request: "The path, the query or the JSON of the body cannot be read.",
  unauthorized: "The bearer token is missing or not valid.",
  forbidden: "The caller does not have the permission.",
  not_found: "What the path names does not exist, or not for the caller.",
  method_not_allowed: "This address does not answer this method.",
  conflict: "The record has changed at the same time, or its state does not allow this.",
  already_exists: "The name is taken.",
  cluster_not_ready: "The cluster has not been running yet.",
  cluster_not_running: "The cluster is not running now.",
  operation_in_progress: "The first request with this Idempotency-Key is still under way.",
  last_owner: "An organization keeps at least one owner.",
  organization_not_empty: "The organization still has clusters.",
  quota_below_usage: "The new quota is below what is stored already.",
  managed_elsewhere: "The field belongs to another manager, such as a GitOps pipeline.",
  precondition_failed: "The record is no longer the version that If-Match names.",
  payload_too_large: "The body is larger than accepted.",
  unsupported_media_type: "The body must be sent as application/json.",
  validation_failed: "Fields of the body are refused; `details` names each.",
  quota_exceeded: "A quota of the organization is used up.",
  idempotency_key_reused: "This Idempotency-Key was used with another body.",
  rate_limited: "Too many requests; Retry-After says when to come again.",
  internal: "A fault on the side of the service.",
  dependency_unavailable: "A backend does not answer now; try again.",
  attachments_unavailable: "No store for attachments is configured.",
  event_harvester_disabled: "The live feed is switched off.",
};

/** Every answer that is not 2xx or 3xx has this body. */
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
          .openapi({ description: "A sentence for people; it may change." }),
        details: z
          .array(
            z
              .object({
                field: z
                  .string()
                  .max(MAX_FIELD_LENGTH)
                  .openapi({ description: "Path of the field.", example: "node_pools[0].vcpus" }),
                code: z.enum(DETAIL_CODES).openapi({ description: "Why it is refused." }),
                message: z
                  .string()
                  .max(MAX_MESSAGE_LENGTH)
                  .openapi({ description: "The same in words, to follow the name of the field." }),
              })
              .openapi({ description: "One fault." }),
          )
          .max(MAX_DETAILS)
          .optional()
          .openapi({ description: "Every fault of the request, at most 100." }),
        request_id: z.string().max(128).openapi({
          description: "The id of this request, as in X-Request-Id; name it when asking for help.",
        }),
      })
      .openapi({ description: "What went wrong." }),
  })
  .openapi("Error", { example: exampleOf("not_found") });

/** Headers and examples that many answers share, as components of the document. */
export function registerParts(registry: OpenAPIHono["openAPIRegistry"]): void {
  const used = ERROR_CODES.filter((code) =>
    JSON.stringify(registry.definitions).includes(`/examples/${code}"`),
  );
  for (const [name, header] of Object.entries(RESPONSE_HEADERS)) {
    registry.registerComponent("headers", name, header);
  }
  for (const code of used) {
    registry.registerComponent("examples", code, { summary: MESSAGES[code], value: exampleOf(code) });
  }
}

/** Headers by reference, in the form that an answer of the document has. */
export function headerRefs(names: readonly ResponseHeader[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** One answer per status that the codes have, with one named example per code. */
export function describeErrors(codes: readonly ErrorCode[], access: Access) {
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
          ...commonHeaders(status === 401 ? "anyone" : access),
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

/** The headers of every answer. Whoever did not present a valid credential has no quota to be told of. */
export function commonHeaders(access: Access): ResponseHeader[] {
  return access === "anyone" ? ["X-Request-Id"] : ["X-Request-Id", "RateLimit", "RateLimit-Policy"];
}

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
