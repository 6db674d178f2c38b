export interface KubeErrorFields {
  /** HTTP status of the answer; 0 when there was no answer (see `reason`). */
  status: number;
  /** `Status.reason` of the Kubernetes API; without an answer "Unreachable", "DeadlineExceeded" or "Aborted". */
  reason: string;
  /** The API's own words, fit to be shown to people. */
  kubeMessage: string;
  /** `Status.details`: name, kind, causes[{reason, message, field}] where the API gives them. */
  details?: KubeErrorDetails | undefined;
  /** How long the server asks to wait, from Retry-After or `details.retryAfterSeconds`. */
  retryAfterMs?: number | undefined;
  /** "PATCH /apis/…": what was asked, for logs. */
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

/** The only error that callers of the Kubernetes client see: a refusal of the API, or no answer at all. */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly kubeMessage: string;
  readonly details: KubeErrorDetails | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(fields: KubeErrorFields) {
    const answer = fields.status === 0 ? fields.reason : `${fields.status} ${fields.reason}`;
    super(`${fields.request ?? "kubernetes"}: ${answer}: ${fields.kubeMessage}`, { cause: fields.cause });
    this.name = "KubeError";
    this.status = fields.status;
    this.reason = fields.reason;
    this.kubeMessage = fields.kubeMessage;
    this.details = fields.details;
    this.retryAfterMs = fields.retryAfterMs;
  }

  /** A stale resourceVersion, or a field that another manager owns. */
  get isConflict(): boolean {
    return this.status === 409 && this.reason !== "AlreadyExists";
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  get isAlreadyExists(): boolean {
    return this.status === 409 && this.reason === "AlreadyExists";
  }

  /** Refused by schema, CEL or an admission rule: the same request will not pass later. */
  get isInvalid(): boolean {
    return this.status === 422 || this.reason === "Invalid";
  }

  /** The resourceVersion is too old: list again. */
  get isGone(): boolean {
    return this.status === 410 || this.reason === "Expired" || this.reason === "Gone";
  }

  /** The caller's own signal ended the call. */
  get isAborted(): boolean {
    return this.status === 0 && this.reason === "Aborted";
  }

  /**
   * Worth the same request later: no answer, 429, 502, 503, 504, or a webhook that could not be called
   * (the API answers that with 500 "failed calling webhook").
   */
  get isUnavailable(): boolean {
    if (this.status === 0) return !this.isAborted;
    if (this.status === 500) return this.kubeMessage.includes("failed calling webhook");
    return [429, 502, 503, 504].includes(this.status);
  }
}

/** A KubeError for any answer of 300 and above, also one that is not a Kubernetes Status (a proxy's page, a redirect). */
export function toKubeError(
  answer: { status: number; headers: Record<string, string>; body: unknown },
  request: string,
): KubeError {
  const status = asStatus(answer.body);
  const retryAfterMs = readRetryAfterMs(answer.headers["retry-after"], status?.details?.retryAfterSeconds);
  if (status !== undefined) {
    return new KubeError({
      status: status.code ?? answer.status,
      reason: status.reason ?? httpReason(answer.status),
      kubeMessage: status.message ?? "",
      details: status.details,
      retryAfterMs,
      request,
    });
  }
  const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
  return new KubeError({
    status: answer.status,
    reason: httpReason(answer.status),
    kubeMessage: text.trim().slice(0, 300) || "the answer had no body",
    retryAfterMs,
    request,
  });
}

/** Retry-After in seconds (the API server's form; the HTTP date form is not used by it), else the Status's own figure. */
export function readRetryAfterMs(header: string | undefined, seconds?: number): number | undefined {
  const fromHeader = header === undefined || header.trim() === "" ? Number.NaN : Number(header);
  const value = Number.isFinite(fromHeader) ? fromHeader : seconds;
  return value === undefined || value < 0 ? undefined : value * 1000;
}

interface KubeStatus {
  code?: number;
  reason?: string;
  message?: string;
  details?: KubeErrorDetails;
}

function asStatus(body: unknown): KubeStatus | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  return (body as { kind?: unknown }).kind === "Status" ? (body as KubeStatus) : undefined;
}

function httpReason(status: number): string {
  return STATUS_REASONS[status] ?? "UnexpectedAnswer";
}

/** `metav1.StatusReason` by status, for answers that carry none. */
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
