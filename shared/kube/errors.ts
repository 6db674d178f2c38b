import { z } from "zod";
import { truncateText } from "../program/wording.ts";

export interface KubeErrorFields {
  /** HTTP status of the response; 0 without one that can be read (see `reason`). */
  status: number;
  /** `Status.reason` of the Kubernetes API; with status 0 the client's own, as "Unreachable", "DeadlineExceeded" or "Aborted". */
  reason: string;
  /** The API's own message. */
  kubeMessage: string;
  /** `Status.details`: name, kind, causes[{reason, message, field}] where the API gives them. */
  details?: KubeErrorDetails | undefined;
  /** The wait that the server requests by Retry-After or `details.retryAfterSeconds`. */
  retryAfterMs?: number | undefined;
  /** "PATCH /apis/…", for logs. */
  request?: string | undefined;
  cause?: unknown;
}

export interface KubeErrorDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

/** The message of the authorizer; those of admission have another form. */
const REFUSED_BY_AUTHORIZER = / is forbidden: User "[^"]*" cannot [a-z]+ (resource|path) "/;

/**
 * The message, without an object, of a JSON Patch that cannot be applied to the object as it is now (kube-apiserver,
 * endpoints/handlers/patch.go). Its status is that of an object that is refused.
 */
const PATCH_NOT_APPLICABLE = "the server rejected our request due to an error in our request";

const NOT_READY = [REFUSED_BY_AUTHORIZER, / is forbidden: status unknown for quota: /];

/** A call of the Kubernetes client failed: an error response, or none that can be read. */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly kubeMessage: string;
  readonly details: KubeErrorDetails | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(fields: KubeErrorFields) {
    const outcome = fields.status === 0 ? fields.reason : `${fields.status} ${fields.reason}`;
    super(`${fields.request ?? "kubernetes"}: ${outcome}: ${fields.kubeMessage}`, { cause: fields.cause });
    this.name = "KubeError";
    this.status = fields.status;
    this.reason = fields.reason;
    this.kubeMessage = fields.kubeMessage;
    this.details = fields.details;
    this.retryAfterMs = fields.retryAfterMs;
  }

  /**
   * The write was decided on an object that has changed: its resourceVersion is outdated, another manager owns a field, the
   * object is not the one with this uid, or of a JSON Patch a `test` failed or a path does not exist.
   */
  get isConflict(): boolean {
    if (this.status === 422) return this.kubeMessage === PATCH_NOT_APPLICABLE || isOfOtherUID(this);
    return this.status === 409 && this.reason !== "AlreadyExists";
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  /** The object itself does not exist; other than isNotFound, not when its kind or version is not served. */
  get isMissingObject(): boolean {
    return this.isNotFound && this.details?.name !== undefined;
  }

  /** A ResourceQuota of the namespace is used up (kube-apiserver, plugin/pkg/admission/resourcequota). */
  get isQuotaExceeded(): boolean {
    return this.status === 403 && this.kubeMessage.includes("exceeded quota:");
  }

  /** Nothing can be created in a namespace that is being deleted (k8s.io/api/core/v1, NamespaceTerminatingCause). */
  get isNamespaceTerminating(): boolean {
    return this.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
  }

  get isAlreadyExists(): boolean {
    return this.status === 409 && this.reason === "AlreadyExists";
  }

  /** Rejected by the schema, CEL or an admission rule: a retry will not succeed. */
  get isInvalid(): boolean {
    return (this.status === 422 || this.reason === "Invalid") && !this.isConflict;
  }

  /** The response is larger than a response may be. */
  get isTooLarge(): boolean {
    return networkCodeOf(this) === "UND_ERR_RES_EXCEEDED_MAX_SIZE";
  }

  /** The resourceVersion is too old: relist. */
  get isGone(): boolean {
    return this.status === 410 || this.reason === "Expired" || this.reason === "Gone";
  }

  /** The caller's signal aborted the call. */
  get isAborted(): boolean {
    return this.status === 0 && this.reason === "Aborted";
  }

  /** A webhook of admission could not be called: nothing was stored. */
  get isWebhookUnavailable(): boolean {
    return this.status === 500 && this.kubeMessage.includes("failed calling webhook");
  }

  /**
   * Nothing was said of the request itself, which may succeed later: status 0 but for "Aborted", 429, 502, 503, 504, a webhook
   * that could not be called, no right to it (an API server that has just started grants none until it has read the roles),
   * or a ResourceQuota that kube-controller-manager has not counted yet.
   */
  get isUnavailable(): boolean {
    if (this.status === 0) return !this.isAborted;
    if (this.status === 403) return NOT_READY.some((form) => form.test(this.kubeMessage));
    return this.isWebhookUnavailable || [429, 502, 503, 504].includes(this.status);
  }
}

/** Whether an apply named the uid of an object that another one has replaced; where there is none it is a 409. */
function isOfOtherUID({ details }: KubeError): boolean {
  return details?.causes?.some(({ field }) => field === "metadata.uid") === true;
}

/** Network errors that occur before there is a connection. */
const CONNECT_ERRORS = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether the server cannot have received the request, because there was no connection to it. */
export function wasNeverSent(error: unknown): boolean {
  return CONNECT_ERRORS.has(networkCodeOf(error) ?? "");
}

/**
 * Whether a failed write certainly changed nothing: it was refused or never sent. After a 5xx it may be made all the same, for
 * kube-apiserver ends a request while its store goes on, and a load balancer loses responses.
 */
export function hadNoEffect(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  const isRefused = error.status > 0 && error.status < 500;
  return isRefused || error.isWebhookUnavailable || wasNeverSent(error);
}

/** The `code` of a Node or undici error, or of its cause: "ECONNREFUSED". */
export function networkCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string") return error.code;
  return networkCodeOf(error.cause);
}

/**
 * A KubeError for a response of 300 and above, also one that is not a Kubernetes Status (a proxy's page, a redirect).
 */
export function toKubeError(
  response: { status: number; headers: Record<string, string>; body: unknown },
  request: string,
): KubeError {
  const status = asStatus(response.body);
  const retryAfterMs = readRetryAfterMs(response.headers["retry-after"], status?.details?.retryAfterSeconds);
  if (status !== undefined) {
    return new KubeError({
      status: status.code ?? response.status,
      reason: status.reason ?? httpReason(response.status),
      kubeMessage: status.message ?? "",
      details: status.details,
      retryAfterMs,
      request,
    });
  }
  const text = typeof response.body === "string" ? response.body : JSON.stringify(response.body);
  return new KubeError({
    status: response.status,
    reason: httpReason(response.status),
    kubeMessage: truncateText(text.trim(), 300) || "the response had no body",
    retryAfterMs,
    request,
  });
}

/** Retry-After in seconds (the API server never sends the HTTP date form), else `retryAfterSeconds` of the Status. */
export function readRetryAfterMs(header: string | undefined, seconds?: number): number | undefined {
  const fromHeader = header === undefined || header.trim() === "" ? Number.NaN : Number(header);
  const value = Number.isFinite(fromHeader) ? fromHeader : seconds;
  return value === undefined || value < 0 ? undefined : value * 1000;
}

const optional = <T>(schema: z.ZodType<T>) => schema.optional().catch(undefined);

/** A field of another type than Kubernetes specifies counts as absent. */
const statusSchema = z.object({
  kind: z.literal("Status"),
  code: optional(z.int().min(300).max(599)),
  reason: optional(z.string()),
  message: optional(z.string()),
  details: optional(z.custom<KubeErrorDetails>((value) => typeof value === "object" && value !== null)),
});

function asStatus(body: unknown): z.infer<typeof statusSchema> | undefined {
  return statusSchema.safeParse(body).data;
}

function httpReason(status: number): string {
  return STATUS_REASONS[status] ?? "UnexpectedResponse";
}

/** `metav1.StatusReason` by status, for responses without one. */
const STATUS_REASONS: Record<number, string> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** Longer texts of a tenant are truncated: they end up in a status and in the log. */
const MAX_TRUNCATED_LENGTH = 300;

/** What a call of an API server that is not trusted failed with, with short texts. */
export function truncateError(error: unknown, request: string): KubeError {
  const fields =
    error instanceof KubeError
      ? { status: error.status, reason: error.reason, kubeMessage: error.kubeMessage }
      : { status: 0, reason: "InvalidResponse", kubeMessage: String(error) };
  return new KubeError({
    status: fields.status,
    reason: copyTruncated(fields.reason, MAX_TRUNCATED_LENGTH),
    kubeMessage: copyTruncated(fields.kubeMessage, MAX_TRUNCATED_LENGTH),
    request,
    // An error is kept for a status: not with a response of some megabytes.
    cause: error instanceof KubeError ? error.cause : error,
  });
}

/** Characters that are not seen, or by which others stand in another line or direction. */
const INVISIBLE = /\p{C}|\p{Zl}|\p{Zp}/gu;

/**
 * The first characters of a text of a tenant, for people: what is no visible character, and half a surrogate pair at the
 * end, is U+FFFD. A separate string: a part of a string that V8 cuts out would keep the whole of it in memory.
 */
export function copyTruncated(text: string, maxLength: number): string {
  return Buffer.from(text.slice(0, maxLength).replaceAll(INVISIBLE, "\uFFFD")).toString();
}
