import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { ApiTokenVerifier } from "../http/authentication/authenticator.ts";
import type { TokenPrincipal } from "../http/authentication/principal.ts";
import { type Membership, rightsOfToken } from "../http/authorization/permissions.ts";
import { matchesHash, parseTokenId, TOKEN_PREFIX } from "./secret.ts";
import { findLiveToken, type LiveToken, recordTokenUse } from "./store.ts";

/** The time of the last use is written at most once per token in this time. */
const USE_GRANULARITY_MS = 60_000;

/** What was read to verify a credential, until the request that presented it is authorized by it. */
const verified = new WeakMap<TokenPrincipal, LiveToken>();

/** Looks the token up at every request, so that revocation takes effect immediately. */
export function createApiTokenVerifier(deps: Pick<Deps, "db" | "rightsDb" | "now">): ApiTokenVerifier {
  return {
    isApiToken: (text) => text.startsWith(TOKEN_PREFIX),
    isWellFormed: (text) => parseTokenId(text) !== undefined,
    async verify(text) {
      const id = parseTokenId(text);
      if (id === undefined) return undefined;
      const row = await findLiveToken(deps.rightsDb, id);
      if (row === undefined || !matchesHash(text, row.secretHash)) return undefined;
      await recordUse(deps, row);
      const principal = toPrincipal(row);
      verified.set(principal, row);
      return principal;
    },
  };
}

/**
 * The rights that `verify` has just read of a token, asked for the first time, else as findTokenMembership: the request
 * that presents a token reads it once, and a stream of it or a confirmation reads it anew.
 */
export async function consumeVerifiedMembership(
  deps: { db: Queryable },
  principal: TokenPrincipal,
  orgId: string,
): Promise<Membership | undefined> {
  const row = verified.get(principal);
  verified.delete(principal);
  if (row === undefined || row.orgId !== orgId) return findTokenMembership(deps, principal, orgId);
  return toMembership(row);
}

/**
 * The current rights of a token in its own organization; undefined for any other, and when its secret has changed since
 * it was presented.
 */
export async function findTokenMembership(
  deps: { db: Queryable },
  principal: TokenPrincipal,
  orgId: string,
): Promise<Membership | undefined> {
  if (principal.orgId !== orgId) return undefined;
  const row = await findLiveToken(deps.db, principal.tokenId);
  if (row === undefined || row.version !== principal.version) return undefined;
  return toMembership(row);
}

function toMembership(row: LiveToken): Membership {
  const { memberId, orgId, organization, role } = row;
  return { memberId, orgId, organization, role, rights: rightsOfToken(row) };
}

async function recordUse(
  deps: Pick<Deps, "db" | "now">,
  row: { id: string; orgId: string; lastUsedAt: Date | null },
): Promise<void> {
  const at = deps.now();
  const previousBefore = new Date(at.getTime() - USE_GRANULARITY_MS);
  if (row.lastUsedAt !== null && row.lastUsedAt > previousBefore) return;
  await recordTokenUse(deps.db, row.orgId, row.id, { at, previousBefore });
}

function toPrincipal(row: {
  id: string;
  createdBy: string;
  orgId: string;
  version: number;
  expiresAt: Date;
}): TokenPrincipal {
  return {
    kind: "token",
    tokenId: row.id,
    userId: row.createdBy,
    orgId: row.orgId,
    version: row.version,
    emailVerified: false,
    emailTrusted: false,
    roles: [],
    expiresAtMs: row.expiresAt.getTime(),
  };
}
