import type { z } from "@hono/zod-openapi";
import type { apiTokenRecord } from "./schema.ts";
import { toTokenPrefix } from "./secret.ts";
import type { ApiTokenRow } from "./table.ts";

/** The wire form of a token: never its secret, never its hash. */
export function presentApiToken(row: ApiTokenRow): z.output<typeof apiTokenRecord> {
  return {
    id: row.id,
    org_id: row.orgId,
    name: row.name,
    token_prefix: toTokenPrefix(row.id),
    role: row.role,
    scopes: row.scopes,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  };
}

/** The fields of a token that the audit log keeps. */
export function auditApiToken(row: ApiTokenRow) {
  const { name, role, scopes, expires_at } = presentApiToken(row);
  return { name, role, scopes, expires_at };
}

/** The entity tag of a token. The second part changes with its use, and no If-Match compares it. */
export function apiTokenTag(row: Pick<ApiTokenRow, "version" | "lastUsedAt">): string {
  return `"${row.version}-${row.lastUsedAt?.getTime() ?? 0}"`;
}
