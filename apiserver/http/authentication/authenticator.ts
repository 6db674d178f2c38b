import { createHash, hash, timingSafeEqual } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify } from "jose";
import { createRepeatedWarning, type Logger } from "../../../shared/program/log.ts";
import { ApiError } from "../errors.ts";
import { explainToken, show } from "./explain-token.ts";
import type { IssuerConfig } from "./issuer-config.ts";
import { createIssuerKeys, explainIssuerFault, type IssuerKeys } from "./issuer-keys.ts";
import { ALGORITHMS } from "./key-set.ts";
import type { CarriedGroups, Principal, TokenPrincipal, UserPrincipal } from "./principal.ts";
import { requireAccessToken, toCarriedGroups, toPrincipal } from "./token-claims.ts";
import { badClaim, missingClaim, TokenRefusal, toTokenError } from "./token-refusal.ts";

/** A verified token is accepted for this long without verifying it again: a hash instead of a signature. */
const CACHE_MS = 60_000;
const CACHE_SIZE = 10_000;

export interface Authenticator {
  /** Verifies the bearer token of an Authorization header. Throws 401; 503 when the issuer's keys are unavailable. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Whether this very credential was accepted before: a JSON Web Token a moment ago, an API token at its last use. */
  isKnown(authorization: string): boolean;
  /** Whether it is an API token with the right checksum; does no I/O. */
  isWellFormed(authorization: string): boolean;
  /** The keys of at least one issuer have been read. */
  isReady(): boolean;
  /** Reads the keys of every issuer, retrying until each has been read once. */
  loadKeys(signal: AbortSignal): Promise<void>;
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
  /** Records the user, with what the groups of the token give, and returns the issuer that the id belongs to. */
  bindUser(user: UserPrincipal, groups: CarriedGroups): Promise<string>;
  apiTokens: ApiTokenVerifier;
  /** Gets a warning while the keys of an issuer cannot be read, at the start or later. */
  log: Pick<Logger, "warn">;
  nowMs?: () => number;
}

/**
 * Accepts JSON Web Tokens of the configured issuers, and API tokens. Only the former are cached; of the latter it is
 * remembered that they were accepted.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const nowMs = options.nowMs ?? Date.now;
  const issuers = options.issuers.map((config) => ({
    config,
    keys: createIssuerKeys(config, { nowMs, onFailure: warnOfIssuer(config, options.log, nowMs) }),
  }));
  const verified = new Map<string, { principal: UserPrincipal; untilMs: number }>();
  const acceptedApiTokens = new Set<string>();

  async function verifyApiToken(text: string, hash: string): Promise<TokenPrincipal> {
    const principal = await options.apiTokens.verify(text);
    acceptedApiTokens.delete(hash);
    if (principal === undefined) throw refuse("not an API token that is valid now");
    if (acceptedApiTokens.size >= CACHE_SIZE) {
      acceptedApiTokens.delete(acceptedApiTokens.values().next().value ?? hash);
    }
    acceptedApiTokens.add(hash);
    return principal;
  }

  async function verify(token: string): Promise<UserPrincipal> {
    const { principal, groups } = await verifyToken(token, findIssuer(issuers, token), nowMs());
    const owner = await options.bindUser(principal, groups);
    if (owner !== principal.issuer)
      throw refuse("subject of another issuer", {
        userId: principal.userId,
        owner,
        issuer: principal.issuer,
      });
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
    async loadKeys(signal) {
      await Promise.all(issuers.map(({ keys }) => keys.load(signal)));
    },
  };
}

function warnOfIssuer(config: IssuerConfig, log: Pick<Logger, "warn">, nowMs: () => number) {
  const warn = createRepeatedWarning(log, nowMs);
  return (error: unknown, state: { hasKeys: boolean }) => warn(explainIssuerFault(config, error, state));
}

/** An issuer and its keys. */
export interface Issuer {
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
  if (token === undefined) throw refuse("the Authorization header is not of the form Bearer <token>");
  return token;
}

/** The issuer that a token names. Throws 401. */
export function findIssuer(issuers: readonly Issuer[], token: string): Issuer {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(token);
  } catch (error) {
    throw refuse("not a JSON Web Token", {}, error);
  }
  const issuer = issuers.find(({ config }) => config.issuer === claims.iss);
  if (issuer !== undefined) return issuer;
  const accepted = issuers.map(({ config }) => config.issuer);
  throw refuse(stepOfIssuer(claims.iss), { iss: show(claims.iss), accepted });
}

function stepOfIssuer(iss: unknown): string {
  if (iss === undefined) return missingClaim("iss");
  return typeof iss === "string" ? "issuer not accepted" : badClaim("iss");
}

/**
 * Verifies a token of an issuer. Throws 401 naming the step that failed; 503 when the issuer's keys are unavailable.
 */
export async function verifyToken(
  token: string,
  { config, keys }: Issuer,
  nowMs: number,
): Promise<{ principal: UserPrincipal; groups: CarriedGroups }> {
  try {
    const result = await jwtVerify(token, keys.resolve, {
      issuer: config.issuer,
      audience: config.audiences,
      algorithms: [...ALGORITHMS],
      clockTolerance: config.clockToleranceSeconds,
      requiredClaims: ["exp", config.subjectClaim],
      currentDate: new Date(nowMs),
    });
    requireAccessToken(result, config);
    return { principal: toPrincipal(result, config), groups: toCarriedGroups(result, config) };
  } catch (error) {
    throw toTokenError(error, () => describeToken(token, config, nowMs));
  }
}

/** What the log holds of a refused token: its key, and what is not accepted of it, but nothing about the person. */
function describeToken(token: string, config: IssuerConfig, nowMs: number): Record<string, unknown> {
  try {
    const header = decodeProtectedHeader(token);
    const refused = explainToken(header, decodeJwt(token), config, nowMs).flatMap(
      ({ claim, found, refusal, meaning }) => (refusal === undefined ? [] : [{ claim, found, meaning }]),
    );
    return { issuer: config.issuer, kid: show(header.kid), alg: show(header.alg), refused };
  } catch {
    // It has no header that can be read: a forged one, for which a refusal is enough.
    return { issuer: config.issuer };
  }
}

function refuse(step: string, facts: Readonly<Record<string, unknown>> = {}, cause?: unknown): ApiError {
  return toTokenError(new TokenRefusal(step, facts, cause));
}

/** 401 for an invalid stream ticket. */
export function invalidStreamTicket(): ApiError {
  return new ApiError(
    "unauthorized",
    "The ticket is not valid: it is unknown, used, expired or for another path.",
    {
      headers: { "WWW-Authenticate": 'Bearer realm="marina"' },
    },
  );
}

/** Whether an Authorization header holds this credential; takes as long for any other. */
export function isBearer(authorization: string | undefined, credential: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(authorization ?? ""), digest(`Bearer ${credential}`));
}
