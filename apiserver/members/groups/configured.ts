import { createId } from "../../../shared/program/id.ts";
import { type AuditEntry, recordSystemAudits } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { ConfiguredIssuer } from "../../http/authentication/issuer-config.ts";
import type { MemberHooks } from "../hooks.ts";
import {
  deleteMapping,
  findMapping,
  type GroupMapping,
  insertMapping,
  listConfigured,
  updateMapping,
} from "./mapping-store.ts";
import { auditMapping } from "./present.ts";
import { GROUP_MEMBERSHIPS, inOpenOrganization, settleMembers } from "./settle.ts";
import { listGrantees } from "./store.ts";
import type { GroupMappingRow } from "./table.ts";

/**
 * Makes the mappings of the configuration what it says, with the memberships that come of them; one that the staff made
 * of the same group and organization becomes the configuration's. An organization that is not there is a warning: the
 * others go on.
 */
export async function recordConfiguredMappings(
  { db, log }: Pick<Deps, "db" | "log">,
  hooks: MemberHooks,
  issuers: readonly Pick<ConfiguredIssuer, "issuer" | "groups">[],
): Promise<void> {
  const wanted = issuers.flatMap(({ issuer, groups }) =>
    groups.map(({ group, organization, role }) => ({ issuer, group, orgId: organization, role })),
  );
  const before = await listConfigured(db);
  const isSame = (one: GroupMapping, other: GroupMapping) => isOfSame(one, other) && one.role === other.role;
  const changed = [
    ...wanted.filter((one) => !before.some((row) => isSame(one, row))),
    ...before.filter((row) => !wanted.some((one) => isSame(one, row))),
  ];
  for (const orgId of new Set(changed.map((mapping) => mapping.orgId))) {
    const ofOrganization = wanted.filter((mapping) => mapping.orgId === orgId);
    const isDone = await inOpenOrganization(db, orgId, async (tx) => {
      await recordOf(tx, hooks, orgId, ofOrganization);
      return true;
    });
    if (isDone !== true)
      log.warn({ orgId }, "groups are mapped to an organization that does not exist (oidc.issuers[].groups)");
  }
}

async function recordOf(
  tx: Queryable,
  hooks: MemberHooks,
  orgId: string,
  wanted: readonly GroupMapping[],
): Promise<void> {
  const before = (await listConfigured(tx)).filter((row) => row.orgId === orgId);
  const userIds = new Set<string>();
  const entries: AuditEntry[] = [];
  for (const row of before.filter((one) => !wanted.some((other) => isOfSame(one, other)))) {
    for (const userId of await listGrantees(tx, orgId, row.id)) userIds.add(userId);
    await deleteMapping(tx, row);
    entries.push(toEntry("delete", { before: row }));
  }
  for (const mapping of wanted) {
    const row = await findMapping(tx, mapping);
    if (row === undefined) {
      const after = await insertMapping(tx, { id: createId(), ...mapping, managedBy: "configuration" });
      entries.push(toEntry("create", { after }));
    } else if (row.role !== mapping.role || row.managedBy !== "configuration") {
      for (const userId of await listGrantees(tx, orgId, row.id)) userIds.add(userId);
      const after = await updateMapping(tx, row, { role: mapping.role, managedBy: "configuration" });
      entries.push(toEntry("update", { before: row, after }));
    }
  }
  await recordSystemAudits(tx, GROUP_MEMBERSHIPS, entries);
  const people = [...userIds].map((userId) => ({ userId }));
  await settleMembers(tx, hooks, { orgId, author: "system" }, people);
}

function isOfSame(one: GroupMapping, other: GroupMapping): boolean {
  return one.issuer === other.issuer && one.group === other.group && one.orgId === other.orgId;
}

function toEntry(
  verb: "create" | "update" | "delete",
  {
    before,
    after,
  }: { before: GroupMappingRow; after?: GroupMappingRow } | { before?: never; after: GroupMappingRow },
): AuditEntry {
  const { id, orgId } = before ?? after;
  return {
    action: `group_mapping.${verb}`,
    orgId,
    target: { kind: "group_mapping", id },
    ...(before === undefined ? {} : { before: auditMapping(before) }),
    ...(after === undefined ? {} : { after: auditMapping(after) }),
    result: "done",
  };
}
