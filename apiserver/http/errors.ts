import { truncateText } from "../../shared/program/wording.ts";

/** The closed list of error codes of this API, each with one status. */
const STATUS_BY_CODE = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  conflict: 409,
  already_exists: 409,
  cluster_not_ready: 409,
  cluster_not_running: 409,
  operation_in_progress: 409,
  last_owner: 409,
  organization_not_empty: 409,
  quota_below_usage: 409,
  managed_elsewhere: 409,
  deletion_protected: 409,
  upgrade_blocked: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  quota_exceeded: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  not_implemented: 501,
  dependency_unavailable: 503,
  attachments_unavailable: 503,
  event_harvester_disabled: 503,
} as const;

export type ErrorCode = keyof typeof STATUS_BY_CODE;
export type ErrorStatus = (typeof STATUS_BY_CODE)[ErrorCode];

/** Every error code, in the order of its status. */
export const ERROR_CODES = Object.keys(STATUS_BY_CODE) as [ErrorCode, ...ErrorCode[]];

/** The closed list of reasons to refuse one field of a body. */
export const DETAIL_CODES = [
  "required",
  "invalid_type",
  "out_of_range",
  "too_long",
  "too_short",
  "too_many",
  "invalid_format",
  "invalid_enum",
  "immutable",
  "unknown_field",
  "duplicate",
  "not_found",
  "invalid_cidr",
  "private_address",
  "embedded_credentials",
  "not_https",
  "unknown_event",
  "not_incremental",
  "not_ascending",
  "min_gt_desired",
  "desired_gt_max",
  "min_gt_max",
  "below_one_node",
  "unsupported",
  "deletion_protected",
  "upgrade_blocked",
] as const;

export type DetailCode = (typeof DETAIL_CODES)[number];

/** One refused field: its path in the body (`node_pools[0].vcpus`), the reason, a sentence for people. */
export interface ErrorDetail {
  field: string;
  code: DetailCode;
  message: string;
}

/** Bounds of an error response, so that a large invalid request does not get a larger response. */
export const MAX_DETAILS = 100;
export const MAX_FIELD_LENGTH = 256;
export const MAX_MESSAGE_LENGTH = 1024;

interface ErrorOptions {
  details?: readonly ErrorDetail[];
  /** Seconds until a retry may succeed; sent as Retry-After. */
  retryAfterSeconds?: number;
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
}

/** The only error that reaches a client unchanged; its message is written for people and holds no secret. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: ErrorStatus;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(shorten(message, MAX_MESSAGE_LENGTH), { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.status = STATUS_BY_CODE[code];
    this.details = options.details?.slice(0, MAX_DETAILS).map(shortenDetail);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }
}

function shortenDetail({ field, code, message }: ErrorDetail): ErrorDetail {
  return { field: shorten(field, MAX_FIELD_LENGTH), code, message: shorten(message, MAX_MESSAGE_LENGTH) };
}

/** Cuts between code points and marks the cut. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${truncateText(text, length - 1)}…`;
}

/** The HTTP status of an error code. */
export function statusOf(code: ErrorCode): ErrorStatus {
  return STATUS_BY_CODE[code];
}

/** 404. `what` is a kind ("cluster"), never an id: a missing record and one of another tenant look the same. */
export function notFound(what: string): ApiError {
  return new ApiError("not_found", `This ${what} does not exist.`);
}

/** 422 with at least one detail; the message begins with the first one as `field/code`. */
export function validationFailed(details: readonly [ErrorDetail, ...ErrorDetail[]]): ApiError {
  const [first, ...others] = details;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return new ApiError(
    "validation_failed",
    `${shorten(first.field, MAX_FIELD_LENGTH)}/${first.code}: ${first.message}${more}`,
    {
      details,
    },
  );
}

/** 422 for one field. */
export function invalidField(field: string, code: DetailCode, message: string): ApiError {
  return validationFailed([{ field, code, message }]);
}

/** What a quota allows, and what of it is in use. */
export interface QuotaFigures {
  limit: number;
  used: number;
}

/** The detail of a refusal by a quota; `field` is its name where the quotas of the organization or user are read. */
export function describeExcess(field: string, { limit, used }: QuotaFigures, more = 1): ErrorDetail {
  const message = `the quota is ${limit}, ${used} in use, ${more} more requested`;
  return { field, code: "out_of_range", message };
}

/** For a request whose client has closed the connection: no client reads it, and no server failure is logged. */
export function clientDisconnected(cause: unknown): ApiError {
  return new ApiError("bad_request", "The client closed the connection.", { retryAfterSeconds: 1, cause });
}

/** 503 for a backend that is unavailable; `what` is its name for people ("The Kubernetes API"). */
export function dependencyUnavailable(what: string, cause?: unknown, retryAfterSeconds = 5): ApiError {
  return new ApiError("dependency_unavailable", `${what} is not available right now; try again.`, {
    retryAfterSeconds,
    cause,
  });
}
