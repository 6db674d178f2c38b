import type { ErrorClass } from "../table.ts";

/** Classes of attempts that ended without a status. */
export type FailureClass = Exclude<ErrorClass, "status">;

/** A failure of the endpoint that this folder finds itself; its message is shown to the tenant. */
export class AttemptError extends Error {
  readonly errorClass: FailureClass;

  constructor(errorClass: FailureClass, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AttemptError";
    this.errorClass = errorClass;
  }
}

/** System errors of a connection that cannot be made or breaks before a response. */
const CONNECT_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ETIMEDOUT",
  "EACCES",
  "EPERM",
]);

/** OpenSSL's reasons to refuse a certificate (nodejs.org/api/tls.html, X509 certificate error codes). */
const CERTIFICATE_CODES = new Set([
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_CRL",
  "UNABLE_TO_DECRYPT_CERT_SIGNATURE",
  "UNABLE_TO_DECRYPT_CRL_SIGNATURE",
  "UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY",
  "CERT_SIGNATURE_FAILURE",
  "CRL_SIGNATURE_FAILURE",
  "CERT_NOT_YET_VALID",
  "CERT_HAS_EXPIRED",
  "CRL_NOT_YET_VALID",
  "CRL_HAS_EXPIRED",
  "ERROR_IN_CERT_NOT_BEFORE_FIELD",
  "ERROR_IN_CERT_NOT_AFTER_FIELD",
  "ERROR_IN_CRL_LAST_UPDATE_FIELD",
  "ERROR_IN_CRL_NEXT_UPDATE_FIELD",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_CHAIN_TOO_LONG",
  "CERT_REVOKED",
  "INVALID_CA",
  "PATH_LENGTH_EXCEEDED",
  "INVALID_PURPOSE",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "HOSTNAME_MISMATCH",
  "UNSPECIFIED",
]);

/** The server and Marina share no application protocol: it speaks HTTP/2 alone. */
const NO_COMMON_PROTOCOL = /no.application.protocol/i;

/**
 * The class of an error that a request ended with. Undefined for a fault of this side, as too many open files or a
 * programming error: it says nothing about the endpoint and must not count against it.
 */
export function classifyError(error: unknown): FailureClass | undefined {
  if (error instanceof AttemptError) return error.errorClass;
  if (error instanceof AggregateError) return classifyError(error.errors[0]);
  if (!(error instanceof Error)) return undefined;
  const { code, message }: NodeJS.ErrnoException = error;
  if (code === undefined) return undefined;
  if (CONNECT_CODES.has(code)) return "connect";
  if (NO_COMMON_PROTOCOL.test(code) || NO_COMMON_PROTOCOL.test(message)) return "protocol";
  if (code === "EPROTO" || /^ERR_(SSL|TLS|OSSL)_/.test(code) || CERTIFICATE_CODES.has(code)) return "tls";
  return code.startsWith("HPE_") ? "protocol" : undefined;
}
