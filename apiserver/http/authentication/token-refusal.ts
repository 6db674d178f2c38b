import { errors } from "jose";
import { ApiError, dependencyUnavailable } from "../errors.ts";

/**
 * Why a bearer token is refused: the step that failed, which the response names, and nothing of what would have been
 * accepted. The log has more of it.
 */
export class TokenRefusal extends Error {
  override readonly name = "TokenRefusal";
  /** What the token says and what is accepted; holds no secret. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(step: string, facts: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(step, { cause });
    this.facts = facts;
  }
}

const STEPS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "token expired",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "signature wrong",
  ERR_JOSE_ALG_NOT_ALLOWED: "algorithm not accepted",
  ERR_JOSE_NOT_SUPPORTED: "algorithm not accepted",
  ERR_JWKS_NO_MATCHING_KEY: "key not one of the issuer's",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "key not named",
  ERR_JWS_INVALID: "not a JSON Web Token",
  ERR_JWT_INVALID: "not a JSON Web Token",
};

/** Steps of claims that are there and are not accepted. */
const CLAIM_STEPS: Readonly<Record<string, string>> = {
  aud: "audience not accepted",
  iss: "issuer not accepted",
  nbf: "token not valid yet",
};

/** The step at which jose refused a token; undefined for an error that says nothing about the token. */
function findRefusedStep(error: unknown): string | undefined {
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === "missing") return missingClaim(error.claim);
    return (error.reason === "check_failed" ? CLAIM_STEPS[error.claim] : undefined) ?? badClaim(error.claim);
  }
  return error instanceof errors.JOSEError ? STEPS[error.code] : undefined;
}

/** The step of a claim that the token lacks. */
export function missingClaim(claim: string): string {
  return `claim ${claim} missing`;
}

/** The step of a claim with a value that it cannot have. */
export function badClaim(claim: string): string {
  return `claim ${claim} malformed`;
}

/**
 * The error that a client gets: 401 naming the step, or 503 when the issuer's keys are not to be had. Its cause is a
 * TokenRefusal with `describe`'s facts, unless it has its own.
 */
export function toTokenError(error: unknown, describe: () => Record<string, unknown> = () => ({})): ApiError {
  if (error instanceof ApiError) return error;
  const refusal = error instanceof TokenRefusal ? error : undefined;
  const step = refusal?.message ?? findRefusedStep(error);
  if (step === undefined) return dependencyUnavailable("The identity provider", error);
  const hasFacts = refusal !== undefined && Object.keys(refusal.facts).length > 0;
  return new ApiError("unauthorized", `The bearer token is not valid: ${step}.`, {
    headers: {
      "WWW-Authenticate": `Bearer realm="marina", error="invalid_token", error_description="${toQuotable(step)}"`,
    },
    cause: hasFacts ? refusal : new TokenRefusal(step, describe(), error),
  });
}

/** Without what RFC 6750, section 3, keeps out of the parameter: the name of a claim can hold anything. */
function toQuotable(text: string): string {
  return text.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "?");
}
