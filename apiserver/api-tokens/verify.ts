import { and, eq, gt, isNull, or, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { ApiTokenVerifier } from "../http/authentication/authenticator.ts";
import type { Membership, TokenPrincipal } from "../http/authentication/principal.ts";
import { rightsOfToken } from "../http/authorization/permissions.ts";
import { members } from "../members/store.ts";
import { organizations, recordColumns } from "../organizations/store.ts";
import { matchesHash, parseTokenId, TOKEN_MARK } from "./secret.ts";
import { apiTokens } from "./table.ts";

const USE_GRANULARITY_MS = 60_000;

/** Looks tokens up at every request: what is revoked now is refused now. */
export function createApiTokenVerifier(deps: Pick<Deps, "db" | "now">): ApiTokenVerifier {
  return {
    isApiToken: (text) => text.startsWith(TOKEN_MARK),
    async verify(text) {
      const id = parseTokenId(text);
      if (id === undefined) return undefined;
      const row = await findLiveToken(deps.db, id);
      if (row === undefined || !matchesHash(text, row.secretHash)) return undefined;
      await noteUse(deps, row);
      return toPrincipal(row);
    },
  };
}

/** The rights of a token in its own organization, as they are at this moment; undefined anywhere else. */
export async function findTokenMembership(
  deps: Pick<Deps, "db">,
  principal: TokenPrincipal,
  orgId: string,
): Promise<Membership | undefined> {
  if (principal.orgId !== orgId) return undefined;
  const row = await findLiveToken(deps.db, principal.tokenId);
  if (row === undefined) return undefined;
  const { memberId, role, organization } = row;
  return { memberId, orgId, organization, role, rights: rightsOfToken(row) };
}

/** Writes at most once a minute and token, whoever asks. */
async function noteUse(
  deps: Pick<Deps, "db" | "now">,
  row: { id: string; lastUsedAt: Date | null },
): Promise<void> {
  const now = deps.now();
  const before = new Date(now.getTime() - USE_GRANULARITY_MS);
  if (row.lastUsedAt !== null && row.lastUsedAt > before) return;
  await deps.db
    .update(apiTokens)
    .set({ lastUsedAt: now })
    .where(
      and(
        eq(apiTokens.id, row.id),
        or(isNull(apiTokens.lastUsedAt), sql`${apiTokens.lastUsedAt} <= ${before.toISOString()}`),
      ),
    );
}

function toPrincipal(row: { id: string; createdBy: string; orgId: string; expiresAt: Date }): TokenPrincipal {
  return {
    kind: "token",
    tokenId: row.id,
    userId: row.createdBy,
    orgId: row.orgId,
    emailVerified: false,
    emailTrusted: false,
    roles: [],
    expiresAtMs: row.expiresAt.getTime(),
  };
}

/** A token that is not revoked, not expired, of an existing organization of which its creator is still a member. */
async function findLiveToken(db: Queryable, tokenId: string) {
  const [row] = await db
    .select({
      id: apiTokens.id,
      orgId: apiTokens.orgId,
      role: apiTokens.role,
      scopes: apiTokens.scopes,
      secretHash: apiTokens.secretHash,
      createdBy: apiTokens.createdBy,
      expiresAt: apiTokens.expiresAt,
      lastUsedAt: apiTokens.lastUsedAt,
      memberId: members.id,
      creatorRole: members.role,
      organization: recordColumns,
    })
    .from(apiTokens)
    .innerJoin(organizations, eq(organizations.id, apiTokens.orgId))
    .innerJoin(members, and(eq(members.orgId, apiTokens.orgId), eq(members.userId, apiTokens.createdBy)))
    .where(
      and(
        eq(apiTokens.id, tokenId),
        isNull(apiTokens.revokedAt),
        gt(apiTokens.expiresAt, sql`now()`),
        isNull(organizations.deletedAt),
      ),
    );
  return row;
}
