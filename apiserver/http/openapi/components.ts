import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { RESPONSE_HEADERS, type ResponseHeader } from "../contract/operation.ts";
import {
  DETAIL_CODES,
  type DetailCode,
  ERROR_CODES,
  type ErrorCode,
  MAX_DETAILS,
  MAX_FIELD_LENGTH,
  MAX_MESSAGE_LENGTH,
  statusOf,
} from "../errors.ts";

const EXAMPLE_REQUEST_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

/** What each code means. */
export const MESSAGES: Readonly<Record<ErrorCode, string>> = {
  bad_request: "The path, the query or the JSON of the body is malformed.",
  unauthorized: "The bearer token is missing or invalid.",
  forbidden: "The caller does not have the permission.",
  not_found: "The record does not exist, or the caller cannot see it.",
  method_not_allowed: "This path does not support this method.",
  not_acceptable: "Accept names a form of the response that is not offered; the message says which are.",
  request_timeout: "The request did not arrive in time.",
  conflict: "The record was changed concurrently, or its state does not allow this.",
  already_exists: "The name is taken.",
  cluster_not_ready: "The cluster has never been running.",
  cluster_not_running: "The cluster is not running.",
  operation_in_progress: "The first request with this Idempotency-Key is still in progress.",
  last_owner: "An organization keeps at least one owner.",
  organization_not_empty: "The organization still has clusters.",
  quota_below_usage: "The new quota is below the current usage.",
  managed_elsewhere: "The field belongs to another manager, such as a GitOps pipeline.",
  deletion_protected: "The cluster or node pool is protected from deletion.",
  upgrade_blocked: "The cluster enforces its upgrade checks, and some of them block this upgrade.",
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

/** What a client does about each code; docs/tenants/errors.md has the same sentences. */
export const REMEDIES: Readonly<Record<ErrorCode, string>> = {
  bad_request: "Correct the address, a header, the query or the JSON; the message says which.",
  unauthorized: "Get another token; the message names the step that failed.",
  forbidden: "Ask an owner or admin for the role that has the permission, or give the token the scope.",
  not_found: "Check the id and the organization. What you cannot see looks like what is not there.",
  method_not_allowed: "Use a method that the header `Allow` names.",
  not_acceptable: "Ask for one of the forms that the message names.",
  request_timeout: "Repeat the request on another connection.",
  conflict:
    "Read the record again; its state does not allow the request, or it was changed meanwhile. Retry if there is a `Retry-After`.",
  already_exists: "Choose another name, or use what is there.",
  cluster_not_ready:
    "Wait until the cluster has been `running` once, then repeat the request; the message says why it is not, and while it is being deleted it stays so.",
  cluster_not_running: "Wait until the status is `running`, then repeat the request.",
  operation_in_progress: "Wait for the `Retry-After` and repeat the same request.",
  last_owner: "Make another member an owner first.",
  organization_not_empty: "Delete first what the message names.",
  quota_below_usage: "Free storage first, or choose a limit above what is in use.",
  managed_elsewhere:
    "Change the field where it is managed: in Git, or at the identity provider. The message names the manager.",
  deletion_protected: "Set `deletion_protection` to false with `PUT`, then delete it.",
  upgrade_blocked:
    "Solve what each of `details` names, then repeat the request; or send it with `force` and a reason.",
  precondition_failed: "Read the record again, and repeat the change with its new `ETag`.",
  payload_too_large: "Send a smaller body.",
  unsupported_media_type: "Send `Content-Type: application/json`, without `Content-Encoding`.",
  validation_failed: "Correct every field in `details`.",
  quota_exceeded:
    "Delete something, or ask the platform's staff for more; `GET {organization}/quotas` shows what is in use.",
  idempotency_key_reused: "Send a new key with another body.",
  rate_limited: "Wait for the `Retry-After`, then repeat the request.",
  internal: "Repeat the request with the same `Idempotency-Key`; if it stays, report the `request_id`.",
  not_implemented: "Use a method of HTTP that the reference names.",
  dependency_unavailable: "Wait for the `Retry-After` if there is one, then repeat the request.",
  attachments_unavailable: "Write the message without an attachment, or try again later.",
  event_harvester_disabled: "Read the cluster again from time to time: this platform has no event feed.",
};

/** What each code of a field means; docs/tenants/errors.md has the same sentences. */
export const DETAIL_MEANINGS: Readonly<Record<DetailCode, string>> = {
  required: "The field is missing.",
  invalid_type: "The value has another type.",
  out_of_range: "The number is too small or too large.",
  too_long: "The text is too long.",
  too_short: "The text is too short.",
  too_many: "The list or object has too many entries.",
  invalid_format: "The text has another form than required.",
  invalid_enum: "The value is not one of those on offer.",
  immutable: "The field cannot be changed.",
  unknown_field: "There is no such field.",
  duplicate: "The same value stands twice.",
  not_found: "What the field names does not exist.",
  invalid_cidr: "It is no block in CIDR notation.",
  private_address: "The address is not on the public internet.",
  embedded_credentials: "The URL holds a user name or password.",
  not_https: "The URL is not https.",
  unknown_event: "There is no such type of event.",
  not_incremental: "An upgrade goes to a higher patch or to the next minor version.",
  not_ascending: "The numbers must ascend.",
  min_gt_desired: "The minimum is above `desired_nodes`.",
  desired_gt_max: "`desired_nodes` is above the maximum.",
  min_gt_max: "The minimum is above the maximum.",
  below_one_node: "The budget is smaller than one node.",
  unsupported: "This platform or package does not offer it.",
  deletion_protected: "It is protected from deletion: in a warning of a dry run.",
  upgrade_blocked: "A check of the cluster blocks the upgrade; in a dry run it is a warning.",
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
