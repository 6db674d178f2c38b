import { decodeJwt, decodeProtectedHeader } from "jose";
import { ApiError } from "../errors.ts";
import { findIssuer, verifyToken } from "./authenticator.ts";
import { type ClaimFinding, explainToken, type MappedGroup, show } from "./explain-token.ts";
import type { IssuerConfig } from "./issuer-config.ts";
import { createIssuerKeys, explainIssuerFault } from "./issuer-keys.ts";
import type { UserPrincipal } from "./principal.ts";
import { readGroups } from "./token-claims.ts";
import { TokenRefusal } from "./token-refusal.ts";

export interface TokenCheckOptions {
  issuers: readonly IssuerConfig[];
  /** The issuer that a user's id belongs to; undefined for one that is not known yet. */
  findOwner(userId: string): Promise<string | undefined>;
  /** Which of these groups of an issuer are mapped to organizations. */
  findMappings(issuer: string, groups: readonly string[]): Promise<MappedGroup[]>;
  nowMs?: number;
}

/** What was found out about a token: lines for people, without the token or a part of it. */
export interface TokenCheck {
  isAccepted: boolean;
  lines: string[];
}

/**
 * Says claim by claim what is made of a token. Reads the keys of its issuer, and writes nothing: neither the user nor
 * the token is recorded.
 */
export async function checkToken(text: string, options: TokenCheckOptions): Promise<TokenCheck> {
  const { issuers, nowMs = Date.now() } = options;
  const token = text.trim().replace(/^Bearer +/i, "");
  const parties = issuers.map((config) => ({ config, keys: createIssuerKeys(config) }));
  try {
    const issuer = findIssuer(parties, token);
    const { config } = issuer;
    const header = decodeProtectedHeader(token);
    const payload = decodeJwt(token);
    const mappings = await options.findMappings(config.issuer, readGroups(payload, config));
    const findings = explainToken(header, payload, config, nowMs, mappings).map(describeFinding);
    const key = `kid: ${show(header.kid)} the key, with alg ${show(header.alg)}`;
    const lines = [`iss: ${show(config.issuer)} accepted`, key, ...findings];
    const refusal = await verifyToken(token, issuer, nowMs)
      .then(({ principal }) => requireOwner(principal, options))
      .then(() => undefined)
      .catch((error: unknown) => describeRefusal(error, config));
    return { isAccepted: refusal === undefined, lines: [...lines, refusal ?? "ACCEPTED"] };
  } catch (error) {
    return { isAccepted: false, lines: [describeRefusal(error)] };
  }
}

async function requireOwner({ userId, issuer }: UserPrincipal, options: TokenCheckOptions): Promise<void> {
  const owner = await options.findOwner(userId);
  if (owner !== undefined && owner !== issuer)
    throw new TokenRefusal(`subject of another issuer: the user ${userId} belongs to ${owner}`);
}

function describeFinding({ claim, found, refusal, meaning }: ClaimFinding): string {
  return `${claim}: ${found} ${refusal === undefined ? "" : `REFUSED, ${refusal}; `}${meaning}`;
}

function describeRefusal(error: unknown, config?: IssuerConfig): string {
  if (error instanceof TokenRefusal) return `REFUSED: ${error.message}`;
  if (!(error instanceof ApiError)) throw error;
  const { cause } = error;
  if (!(cause instanceof TokenRefusal)) {
    if (config === undefined) throw error;
    return `NOT CHECKED: ${explainIssuerFault(config, cause, { hasKeys: false })}`;
  }
  const { accepted, iss } = cause.facts;
  const more = Array.isArray(accepted) ? `; iss is ${String(iss)}, accepted: ${accepted.join(", ")}` : "";
  return `REFUSED: ${cause.message}${more}`;
}
