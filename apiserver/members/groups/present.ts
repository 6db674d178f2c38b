import type { z } from "@hono/zod-openapi";
import type { groupMappingRecord } from "./schema.ts";
import type { GroupMappingRow } from "./table.ts";

/** The wire form of a mapping. */
export function presentMapping(row: GroupMappingRow): z.output<typeof groupMappingRecord> {
  return {
    id: row.id,
    issuer: row.issuer,
    group: row.group,
    org_id: row.orgId,
    role: row.role,
    managed_by: row.managedBy,
    created_at: row.createdAt.toISOString(),
  };
}

/** The fields of a mapping that the audit log keeps. */
export function auditMapping(row: GroupMappingRow) {
  const { issuer, group, role, managed_by } = presentMapping(row);
  return { issuer, group, role, managed_by };
}
