import { and, asc, eq, gt, inArray, isNull, sql } from "drizzle-orm";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { uniqueViolationOf } from "../../db/errors.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { ApiError, notFound } from "../../http/errors.ts";
import { organizations } from "../../organizations/index.ts";
import { type GroupMappingRow, groupMappings } from "./table.ts";

/** A group of an issuer, and what its people are in an organization. */
export type GroupMapping = Pick<GroupMappingRow, "issuer" | "group" | "orgId" | "role">;

/** The mappings of all organizations, of one, or of one issuer, ordered by id; one row more than `limit`. */
export async function listMappings(
  db: Queryable,
  {
    orgId,
    issuer,
    cursor = NIL_ID,
    limit,
  }: PageRequest & { orgId?: string | undefined; issuer?: string | undefined },
): Promise<GroupMappingRow[]> {
  return db
    .select()
    .from(groupMappings)
    .where(
      and(
        gt(groupMappings.id, cursor),
        orgId === undefined ? undefined : eq(groupMappings.orgId, orgId),
        issuer === undefined ? undefined : eq(groupMappings.issuer, issuer),
      ),
    )
    .orderBy(asc(groupMappings.id))
    .limit(limit + 1);
}

/** One mapping. Throws 404. */
export async function requireMapping(db: Queryable, id: string): Promise<GroupMappingRow> {
  const [row] = await db.select().from(groupMappings).where(eq(groupMappings.id, id));
  if (row === undefined) throw notFound("group mapping");
  return row;
}

/** The mappings of these groups of an issuer to organizations that are not deleted. */
export async function findMappingsOf(
  db: Queryable,
  issuer: string,
  groups: readonly string[],
): Promise<GroupMapping[]> {
  if (groups.length === 0) return [];
  const { group, orgId, role } = groupMappings;
  return db
    .select({ issuer: groupMappings.issuer, group, orgId, role })
    .from(groupMappings)
    .innerJoin(organizations, and(eq(organizations.id, groupMappings.orgId), isNull(organizations.deletedAt)))
    .where(and(eq(groupMappings.issuer, issuer), inArray(groupMappings.group, [...groups])))
    .orderBy(asc(groupMappings.id));
}

/** Adds a mapping. Throws 409 already_exists for a group that is mapped to the organization already. */
export async function insertMapping(
  tx: Queryable,
  values: GroupMapping & Pick<GroupMappingRow, "id" | "managedBy">,
): Promise<GroupMappingRow> {
  const [row] = await tx
    .insert(groupMappings)
    .values(values)
    .returning()
    .catch((error: unknown) => {
      if (uniqueViolationOf(error) !== "group_mappings_group_key") throw error;
      throw new ApiError("already_exists", "This group is mapped to the organization already.", {
        details: [{ field: "group", code: "duplicate", message: "is mapped to the organization already" }],
        cause: error,
      });
    });
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/** Changes a mapping. Throws 404. */
export async function updateMapping(
  tx: Queryable,
  { orgId, id }: Pick<GroupMappingRow, "orgId" | "id">,
  values: Partial<Pick<GroupMappingRow, "role" | "managedBy">>,
): Promise<GroupMappingRow> {
  const [row] = await tx
    .update(groupMappings)
    .set({ ...values, version: sql`${groupMappings.version} + 1` })
    .where(and(eq(groupMappings.orgId, orgId), eq(groupMappings.id, id)))
    .returning();
  if (row === undefined) throw notFound("group mapping");
  return row;
}

/** Removes a mapping, with all that it gives. */
export async function deleteMapping(
  tx: Queryable,
  { orgId, id }: Pick<GroupMappingRow, "orgId" | "id">,
): Promise<void> {
  await tx.delete(groupMappings).where(and(eq(groupMappings.orgId, orgId), eq(groupMappings.id, id)));
}

/** Removes the mappings to an organization, with all that they give. */
export async function deleteMappingsOf(tx: Queryable, orgId: string): Promise<void> {
  await tx.delete(groupMappings).where(eq(groupMappings.orgId, orgId));
}

/** Every mapping that the configuration made. */
export async function listConfigured(db: Queryable): Promise<GroupMappingRow[]> {
  return db.select().from(groupMappings).where(eq(groupMappings.managedBy, "configuration"));
}

/** The mapping of a group to an organization; undefined when there is none. */
export async function findMapping(
  tx: Queryable,
  { issuer, group, orgId }: Pick<GroupMapping, "issuer" | "group" | "orgId">,
): Promise<GroupMappingRow | undefined> {
  const [row] = await tx
    .select()
    .from(groupMappings)
    .where(
      and(eq(groupMappings.orgId, orgId), eq(groupMappings.issuer, issuer), eq(groupMappings.group, group)),
    );
  return row;
}

/** Gives the mappings of a former URL of an issuer to its present one, but those that it has already. */
export async function moveMappings(tx: Queryable, formerUrl: string, url: string): Promise<void> {
  await tx
    .update(groupMappings)
    .set({ issuer: url })
    .where(
      and(
        eq(groupMappings.issuer, formerUrl),
        sql`not exists (select 1 from ${groupMappings} as other where other.issuer = ${url}
          and other.group_name = ${groupMappings.group} and other.org_id = ${groupMappings.orgId})`,
      ),
    );
}
