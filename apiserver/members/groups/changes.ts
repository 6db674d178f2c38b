import { recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { GroupRole } from "../../http/authentication/issuer-config.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { ApiError, invalidField } from "../../http/errors.ts";
import { lockOrganization } from "../../organizations/index.ts";
import type { MemberHooks } from "../hooks.ts";
import {
  deleteMapping,
  type GroupMapping,
  insertMapping,
  requireMapping,
  updateMapping,
} from "./mapping-store.ts";
import { auditMapping } from "./present.ts";
import { settleMembers } from "./settle.ts";
import { listGrantees } from "./store.ts";
import type { GroupMappingRow } from "./table.ts";

/**
 * Maps a group to an organization for the platform's staff. Throws 422 for an issuer that is not configured and for an
 * unknown organization, 409 already_exists, and 409 conflict for an organization that is being deleted.
 */
export async function createMapping(
  tx: Queryable,
  author: Author,
  issuers: readonly string[],
  mapping: GroupMapping & { id: string },
): Promise<GroupMappingRow> {
  if (!issuers.includes(mapping.issuer))
    throw invalidField("issuer", "invalid_enum", `must be a configured issuer: ${issuers.join(", ")}`);
  await lockOrganization(tx, mapping.orgId).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.code === "not_found")) throw error;
    throw invalidField("org_id", "not_found", "is not an organization");
  });
  const row = await insertMapping(tx, { ...mapping, managedBy: "staff" });
  await recordChange(tx, author, "group_mapping.create", { after: row });
  return row;
}

/** A mapping, under the row lock of its organization. Throws 404, and 409 conflict for one that is being deleted. */
export async function lockMapping(tx: Queryable, id: string): Promise<GroupMappingRow> {
  const { orgId } = await requireMapping(tx, id);
  await lockOrganization(tx, orgId);
  return requireMapping(tx, id);
}

/** What a change of a mapping did. */
interface MappingChange {
  mapping: GroupMappingRow;
  /** Someone can no longer access clusters of the organization. */
  isAccessLost: boolean;
}

/** Gives the people of a locked mapping another role, at once. Throws 409 managed_elsewhere. */
export async function changeMappingRole(
  tx: Queryable,
  hooks: MemberHooks,
  author: Author,
  before: GroupMappingRow,
  role: GroupRole,
): Promise<MappingChange> {
  if (role === before.role) return { mapping: before, isAccessLost: false };
  requireOfStaff(before);
  const mapping = await updateMapping(tx, before, { role });
  await recordChange(tx, author, "group_mapping.update", { before, after: mapping });
  const people = await listGrantees(tx, before.orgId, before.id);
  const place = { orgId: before.orgId, author };
  const { isAccessLost } = await settleMembers(tx, hooks, place, people.map(toPerson));
  return { mapping, isAccessLost };
}

/** Removes a locked mapping, and ends at once what it alone gave. Throws 409 managed_elsewhere. */
export async function removeMapping(
  tx: Queryable,
  hooks: MemberHooks,
  author: Author,
  before: GroupMappingRow,
): Promise<MappingChange> {
  requireOfStaff(before);
  const people = await listGrantees(tx, before.orgId, before.id);
  await deleteMapping(tx, before);
  await recordChange(tx, author, "group_mapping.delete", { before });
  const place = { orgId: before.orgId, author };
  const { isAccessLost } = await settleMembers(tx, hooks, place, people.map(toPerson));
  return { mapping: before, isAccessLost };
}

function requireOfStaff({ managedBy }: GroupMappingRow): void {
  if (managedBy === "staff") return;
  throw new ApiError(
    "managed_elsewhere",
    "This mapping is one of the configuration (oidc.issuers[].groups); change it there.",
  );
}

const toPerson = (userId: string) => ({ userId });

async function recordChange(
  tx: Queryable,
  author: Author,
  action: string,
  change: { before: GroupMappingRow; after?: GroupMappingRow } | { before?: never; after: GroupMappingRow },
): Promise<void> {
  const { id, orgId } = change.before ?? change.after;
  await recordAudit(tx, author, {
    action,
    orgId,
    target: { kind: "group_mapping", id },
    ...(change.before === undefined ? {} : { before: auditMapping(change.before) }),
    ...(change.after === undefined ? {} : { after: auditMapping(change.after) }),
    result: "done",
  });
}
