import { hash } from "node:crypto";
import { decodeJwt, errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import { z } from "zod";
import type { Logger } from "../../../shared/program/log.ts";
import { createRepeatedWarning } from "../../../shared/program/repeated-warning.ts";
import { ApiError, dependencyUnavailable } from "../errors.ts";
import type { IssuerConfig } from "./issuer-config.ts";
import { explainIssuerFault } from "./issuer-faults.ts";
import { createIssuerKeys, type IssuerKeys } from "./issuer-keys.ts";
import type { Principal, TokenPrincipal, UserPrincipal } from "./principal.ts";

const subjectSchema = z.guid().toLowerCase();
const ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"];
const CLOCK_SKEW_SECONDS = 30;
/** A verified token is accepted for this long without verifying it again: a hash instead of a signature. */
const CACHE_MS = 60_000;
const CACHE_SIZE = 10_000;
/** ASCII alone: letters of other alphabets that look alike, or fold into ASCII, would make one address of two. */
const EMAIL = /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/;

export interface Authenticator {
  /** Verifies the bearer token of an Authorization header. Throws 401; 503 when the issuer's keys are unavailable. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Whether this very credential was accepted before: a JSON Web Token a moment ago, an API token at its last use. */
  isKnown(authorization: string): boolean;
  /** Whether it is an API token with the right checksum; does no I/O. */
  isWellFormed(authorization: string): boolean;
  /** The keys of at least one issuer have been read. */
  isReady(): boolean;
  /** Reads the keys of every issuer, retrying until each has been read once, with a warning while it fails. */
  loadKeys(signal: AbortSignal, log: Pick<Logger, "warn">): Promise<void>;
}

/** Recognizes and verifies API tokens. */
export interface ApiTokenVerifier {
  /** Whether a bearer credential has the prefix of an API token, well formed or not. */
  isApiToken(text: string): boolean;
  /** Whether its checksum is right; does no I/O. */
  isWellFormed(text: string): boolean;
  /** The token's principal at this moment; undefined for one that is malformed, unknown, expired or revoked. */
  verify(text: string): Promise<TokenPrincipal | undefined>;
}

export interface AuthenticatorOptions {
  issuers: readonly IssuerConfig[];
  /** Records the user and returns the issuer that the id belongs to. */
  bindUser(user: UserPrincipal): Promise<string>;
  apiTokens: ApiTokenVerifier;
  nowMs?: () => number;
}

/**
 * Accepts JSON Web Tokens of the configured issuers, and API tokens. Only the former are cached; of the latter it is
 * remembered that they were accepted.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const nowMs = options.nowMs ?? Date.now;
  const issuers = options.issuers.map((config) => ({ config, keys: createIssuerKeys(config, nowMs) }));
  const verified = new Map<string, { principal: UserPrincipal; untilMs: number }>();
  const acceptedApiTokens = new Set<string>();

  async function verifyApiToken(text: string, hash: string): Promise<TokenPrincipal> {
    const principal = await options.apiTokens.verify(text);
    acceptedApiTokens.delete(hash);
    if (principal === undefined) throw invalidToken("it is not an API token that is valid now");
    if (acceptedApiTokens.size >= CACHE_SIZE) {
      acceptedApiTokens.delete(acceptedApiTokens.values().next().value ?? hash);
    }
    acceptedApiTokens.add(hash);
    return principal;
  }

  async function verify(token: string): Promise<UserPrincipal> {
    const issuer = findIssuer(issuers, token);
    const principal = toPrincipal(await verifyToken(token, issuer, nowMs()), issuer.config);
    const owner = await options.bindUser(principal);
    if (owner !== principal.issuer) throw invalidToken("the subject belongs to another issuer");
    return principal;
  }

  return {
    async authenticate(authorization) {
      const hash = hashOf(authorization ?? "");
      const known = verified.get(hash);
      if (known !== undefined && known.untilMs > nowMs()) return known.principal;
      const token = parseBearer(authorization);
      if (options.apiTokens.isApiToken(token)) return verifyApiToken(token, hash);
      const principal = await verify(token);
      if (verified.size >= CACHE_SIZE) verified.delete(verified.keys().next().value ?? hash);
      verified.delete(hash);
      verified.set(hash, { principal, untilMs: Math.min(principal.expiresAtMs, nowMs() + CACHE_MS) });
      return principal;
    },
    isKnown(authorization) {
      const hash = hashOf(authorization);
      return acceptedApiTokens.has(hash) || (verified.get(hash)?.untilMs ?? 0) > nowMs();
    },
    isWellFormed: (authorization) => options.apiTokens.isWellFormed(BEARER.exec(authorization)?.[1] ?? ""),
    isReady: () => issuers.some((issuer) => issuer.keys.isLoaded()),
    async loadKeys(signal, log) {
      const load = ({ config, keys }: Issuer) => {
        const warn = createRepeatedWarning(log, nowMs);
        return keys.load(signal, (error) => warn(explainIssuerFault(config, error)));
      };
      await Promise.all(issuers.map(load));
    },
  };
}

interface Issuer {
  config: IssuerConfig;
  keys: IssuerKeys;
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i;

function hashOf(authorization: string): string {
  return hash("sha256", authorization, "base64");
}

function parseBearer(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new ApiError("unauthorized", "This operation needs an Authorization header with a bearer token.", {
      headers: { "WWW-Authenticate": 'Bearer realm="marina"' },
    });
  }
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) throw invalidToken("the Authorization header is not of the form Bearer <token>");
  return token;
}

function findIssuer(issuers: readonly Issuer[], token: string): Issuer {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(token);
  } catch (error) {
    throw invalidToken("it is not a JSON Web Token", error);
  }
  const issuer = issuers.find(({ config }) => config.issuer === claims.iss);
  if (issuer === undefined) throw invalidToken("its issuer is not accepted here");
  return issuer;
}

async function verifyToken(token: string, issuer: Issuer, nowMs: number): Promise<JWTVerifyResult> {
  try {
    const result = await jwtVerify(token, issuer.keys.resolve, {
      issuer: issuer.config.issuer,
      audience: issuer.config.audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ["exp", "sub"],
      currentDate: new Date(nowMs),
    });
    requireType(result.protectedHeader.typ, issuer.config.types);
    requireAccessToken(result);
    return result;
  } catch (error) {
    throw toTokenError(error);
  }
}

/** The media type of a token, in short or full form (RFC 7515 section 4.1.9). */
function requireType(typ: string | undefined, accepted: readonly string[]): void {
  if (accepted.some((name) => isType(typ, name))) return;
  throw invalidToken("its type is not accepted here");
}

function isType(typ: string | undefined, name: string): boolean {
  return typ?.toLowerCase().replace(/^application\//, "") === name.toLowerCase();
}

/** Claims that OpenID Connect Core 1.0 (section 2, 3.1.3.6, 3.3.2.11) defines for ID tokens alone. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash"];

/**
 * Refuses an ID token, which an application gets about a person and may pass on. RFC 9068 gives access tokens their
 * own type; providers without it put `Bearer` in the claim `typ`, as Keycloak does, or their other claims decide: an ID
 * token is only for the application that requested it (`azp`).
 */
function requireAccessToken({ protectedHeader, payload }: JWTVerifyResult): void {
  if (isType(protectedHeader.typ, "at+jwt")) return;
  const { typ, azp, aud } = payload;
  if (typ === "Bearer") return;
  const audiences = [aud].flat();
  const isForRequester = azp !== undefined && audiences.every((audience) => audience === azp);
  if (typ !== undefined || isForRequester || ID_TOKEN_CLAIMS.some((claim) => claim in payload)) {
    throw invalidToken("it is not an access token");
  }
}

const TOKEN_FAULTS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "it has expired",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "one of its claims is missing or wrong",
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not accepted here",
  ERR_JOSE_NOT_SUPPORTED: "its algorithm is not accepted here",
  ERR_JWKS_NO_MATCHING_KEY: "its key is not one of the issuer's",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "it does not say which key signed it",
  ERR_JWS_INVALID: "it is not a JSON Web Token",
  ERR_JWT_INVALID: "it is not a JSON Web Token",
};

function toTokenError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const fault = error instanceof errors.JOSEError ? TOKEN_FAULTS[error.code] : undefined;
  if (fault !== undefined) return invalidToken(fault, error);
  return dependencyUnavailable("The identity provider", error);
}

/** 401 for an invalid ticket. */
export function invalidTicket(): ApiError {
  return new ApiError(
    "unauthorized",
    "The ticket is not valid: it is unknown, used, expired or for another path.",
    {
      headers: { "WWW-Authenticate": 'Bearer realm="marina"' },
    },
  );
}

function invalidToken(reason: string, cause?: unknown): ApiError {
  return new ApiError("unauthorized", `The bearer token is not valid: ${reason}.`, {
    headers: {
      "WWW-Authenticate": `Bearer realm="marina", error="invalid_token", error_description="${reason}"`,
    },
    cause,
  });
}

/** Reads a principal from verified claims. Realm roles and trust in addresses depend on the issuer's configuration. */
export function toPrincipal(
  { payload }: Pick<JWTVerifyResult, "payload">,
  config: IssuerConfig,
): UserPrincipal {
  const userId = subjectSchema.safeParse(payload.sub);
  if (!userId.success) throw invalidToken("its subject is not a UUID");
  const email = typeof payload.email === "string" && EMAIL.test(payload.email) ? payload.email : undefined;
  const emailVerified = email !== undefined && payload.email_verified === true;
  return {
    kind: "user",
    userId: userId.data,
    issuer: config.issuer,
    ...(email === undefined ? {} : { email }),
    emailVerified,
    emailTrusted: emailVerified && config.trustEmail,
    roles: config.admin ? readRoles(payload, config.rolePath) : [],
    expiresAtMs: ((payload.exp ?? 0) + CLOCK_SKEW_SECONDS) * 1000,
  };
}

function readRoles(payload: JWTPayload, rolePath: string): string[] {
  let value: unknown = payload;
  for (const key of rolePath.split(".")) {
    if (typeof value !== "object" || value === null) return [];
    value = (value as Record<string, unknown>)[key];
  }
  return Array.isArray(value) ? value.filter((role) => typeof role === "string") : [];
}
