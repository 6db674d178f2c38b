import { and, eq, inArray, isNull, ne, or, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { setExcluded } from "../../db/statement.ts";
import type { Batch } from "./batches.ts";
import { type ExternalWriter, isPool, type ProjectedObject, quotaUseOf } from "./project.ts";
import { projectedClusters, projectedNodePools } from "./table.ts";

/** The stored version of one object. */
interface StoredVersion {
  resourceVersion: bigint;
  /** Set on a tombstone. */
  deletedAt: Date | null;
}

/** The stored row of one object, possibly a tombstone. */
export interface Stored extends StoredVersion {
  status: string;
  displayName: string;
  clusterId: string;
  externalWriters: ExternalWriter[];
  object: ProjectedObject["object"];
}

const TABLES = { cluster: projectedClusters, node_pool: projectedNodePools };

/** The stored rows of these objects by metadata.uid, tombstones included. */
export async function findStored(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
): Promise<Map<string, Stored>> {
  const table = TABLES[kind];
  const rows = await tx
    .select({
      uid: table.uid,
      clusterId: kind === "cluster" ? projectedClusters.id : projectedNodePools.clusterId,
      resourceVersion: table.resourceVersion,
      deletedAt: table.deletedAt,
      status: table.status,
      displayName: table.displayName,
      externalWriters: table.externalWriters,
      object: table.object,
    })
    .from(table)
    .where(
      inArray(
        table.uid,
        objects.map(({ uid }) => uid),
      ),
    );
  return new Map(rows.map(({ uid, ...stored }) => [uid, stored]));
}

/** Writes the rows of these objects; with `deletedAt` as tombstones. */
export async function writeRows(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
  deletedAt: Date | null = null,
): Promise<void> {
  if (objects.length === 0) return;
  const table = TABLES[kind];
  const rows = objects.map(
    (object) => ({ ...object, ...quotaColumns(object), deletedAt }) as typeof table.$inferInsert,
  );
  await tx
    .insert(table)
    .values(rows)
    .onConflictDoUpdate({ target: table.uid, set: setExcluded(table) });
}

/** What a pool counts against the quotas; a cluster has no amounts, for each counts as one. */
function quotaColumns(object: ProjectedObject) {
  if (!isPool(object)) return {};
  const { nodes, vcpus, memoryGB } = quotaUseOf(object.object);
  return { quotaNodes: nodes, quotaVcpus: vcpus, quotaMemoryGB: memoryGB };
}

/**
 * Turns the rows of objects that these replaced into tombstones: those with the same namespaced name or id and another
 * uid. Returns their last statuses by id.
 */
export async function markReplacedDeleted(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
): Promise<Map<string, string>> {
  if (objects.length === 0) return new Map();
  const table = TABLES[kind];
  const isReplaced = objects.map(({ uid, id, namespace, name }) =>
    and(ne(table.uid, uid), or(eq(table.id, id), and(eq(table.namespace, namespace), eq(table.name, name)))),
  );
  const rows = await tx
    .update(table)
    .set({ deletedAt: sql`now()` })
    .where(and(isNull(table.deletedAt), or(...isReplaced)))
    .returning({ id: table.id, status: table.status });
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Which of these ids exist and are not deleted. */
export async function findServedIds(
  tx: Queryable,
  kind: Batch["kind"],
  ids: readonly string[],
): Promise<Set<string>> {
  const table = TABLES[kind];
  const rows = await tx
    .select({ id: table.id })
    .from(table)
    .where(and(inArray(table.id, [...ids]), isNull(table.deletedAt)));
  return new Set(rows.map(({ id }) => id));
}

/**
 * Whether an observation may replace the row of the same metadata.uid. A tombstone is never replaced; otherwise the
 * higher resourceVersion wins, compared as an integer. `authoritative` marks a quorum read made after the row was read:
 * it also wins with a lower version, which occurs after a restore of etcd.
 */
export function mayReplace(
  stored: StoredVersion | undefined,
  incoming: { resourceVersion: bigint; authoritative: boolean },
): boolean {
  if (stored === undefined) return true;
  if (stored.deletedAt !== null) return false;
  if (incoming.resourceVersion === stored.resourceVersion) return false;
  return incoming.authoritative || incoming.resourceVersion > stored.resourceVersion;
}
