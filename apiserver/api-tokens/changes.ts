import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Author } from "../http/authentication/principal.ts";
import type { Role, Scope } from "../http/authorization/permissions.ts";
import { ApiError, describeExcess, type QuotaFigures } from "../http/errors.ts";
import { auditApiToken } from "./present.ts";
import { mintToken } from "./secret.ts";
import { countLiveTokens, insertApiToken, updateApiToken } from "./store.ts";
import type { ApiTokenRow } from "./table.ts";

const DAY_MS = 86_400_000;

/** A token together with its secret, which exists nowhere else. */
export interface MintedApiToken {
  row: ApiTokenRow;
  text: string;
}

export interface NewApiToken {
  id: string;
  name: string;
  role: Role;
  scopes: Scope[];
  createdAt: Date;
  lifetimeDays: number;
  /** How many live tokens the organization may have, this one included. */
  maxTokens: number;
}

/** Creates a token of the caller in a locked organization. Throws 422 quota_exceeded when that has `maxTokens`. */
export async function createApiToken(
  tx: Queryable,
  author: Author,
  orgId: string,
  input: NewApiToken,
): Promise<MintedApiToken> {
  const { lifetimeDays, maxTokens, ...values } = input;
  await requireCapacity(tx, orgId, maxTokens);
  const { text, hash } = mintToken(input.id);
  const row = await insertApiToken(tx, {
    orgId,
    ...values,
    secretHash: hash,
    createdBy: author.principal.userId,
    expiresAt: new Date(input.createdAt.getTime() + lifetimeDays * DAY_MS),
  });
  await recordChange(tx, author, "api_token.create", { after: row });
  return { row, text };
}

/** Revokes a locked token; returns the revoked token. */
export async function revokeApiToken(
  tx: Queryable,
  author: Author,
  before: ApiTokenRow,
  revokedAt: Date,
): Promise<ApiTokenRow> {
  const after = await updateApiToken(tx, before.orgId, before.id, { revokedAt });
  await recordChange(tx, author, "api_token.revoke", { before });
  return after;
}

/**
 * Gives a locked token of a locked organization another secret and restarts its lifetime; the old secret stops working
 * immediately. Throws 422 quota_exceeded for an expired one when the organization has `maxTokens` live ones.
 */
export async function rotateApiToken(
  tx: Queryable,
  author: Author,
  before: ApiTokenRow,
  rotatedAt: Date,
  maxTokens: number,
): Promise<MintedApiToken> {
  if (before.expiresAt <= rotatedAt) await requireCapacity(tx, before.orgId, maxTokens);
  const { text, hash } = mintToken(before.id);
  const lifetimeMs = before.expiresAt.getTime() - (before.rotatedAt ?? before.createdAt).getTime();
  const row = await updateApiToken(tx, before.orgId, before.id, {
    secretHash: hash,
    rotatedAt,
    expiresAt: new Date(rotatedAt.getTime() + lifetimeMs),
  });
  await recordChange(tx, author, "api_token.rotate", { before, after: row });
  return { row, text };
}

/** The live tokens of an organization, which may have `limit`, as one of its stores. */
export async function readTokenStore(
  db: Queryable,
  orgId: string,
  limit: number,
): Promise<{ api_tokens: QuotaFigures }> {
  return { api_tokens: { limit, used: await countLiveTokens(db, orgId) } };
}

async function requireCapacity(tx: Queryable, orgId: string, maxTokens: number): Promise<void> {
  const { api_tokens: figures } = await readTokenStore(tx, orgId, maxTokens);
  const { limit, used } = figures;
  if (used < limit) return;
  throw new ApiError("quota_exceeded", `The quota of API tokens is ${limit}, ${used} in use; revoke one.`, {
    details: [describeExcess("api_tokens", figures)],
  });
}

async function recordChange(
  tx: Queryable,
  author: Author,
  action: string,
  change: { before: ApiTokenRow; after?: ApiTokenRow } | { before?: never; after: ApiTokenRow },
): Promise<void> {
  const { id, orgId } = change.before ?? change.after;
  await recordAudit(tx, author, {
    action,
    orgId,
    target: { kind: "api_token", id },
    ...(change.before === undefined ? {} : { before: auditApiToken(change.before) }),
    ...(change.after === undefined ? {} : { after: auditApiToken(change.after) }),
    result: "done",
  });
}
