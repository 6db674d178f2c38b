import { inArray, sql } from "drizzle-orm";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { type ExternalAudit, recordExternalAudits } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import { toStorable } from "../../db/statement.ts";
import type { Deps } from "../../deps.ts";
import { type AuditedState, isSameState, toAuditedState, trimVersion } from "./audited-state.ts";
import { isPool, type ProjectedObject } from "./project.ts";
import { findByUid } from "./stored-objects.ts";
import { auditedVersions } from "./table.ts";
import { findGap, findVersionChanges } from "./version-changes.ts";

/**
 * Compares the versions of these objects that the watches delivered, each with the one before it, and writes what
 * others than Marina's programs changed to the audit log, each change once: what was compared last is stored with the
 * rows. An object that is not projected, for it has no id or another has it, keeps its versions. `isProjected`: the
 * latest are projected.
 */
export async function auditVersions(
  deps: Pick<Deps, "db">,
  unaudited: UnauditedVersions,
  uids: readonly string[],
  { isProjected }: { isProjected: boolean },
): Promise<void> {
  const waiting = [...new Set(uids)].filter((uid) => unaudited.of(uid).length > 0);
  const audited = await findAudited(deps.db, waiting);
  for (const uid of waiting) {
    const delivered = unaudited.of(uid);
    const last = audited.get(uid);
    const isUnchanged =
      last !== undefined && delivered.every((version) => isSameState(last, toAuditedState(version)));
    const compare = (tx: Queryable) => compareVersions(tx, uid, delivered, isProjected);
    if (!isUnchanged && !(await deps.db.transaction(compare))) continue;
    unaudited.remove(uid, delivered);
  }
}

/**
 * False when they have to wait: for their object to be projected, or for the projection of older ones, as after a
 * restore.
 */
async function compareVersions(
  tx: Queryable,
  uid: string,
  delivered: readonly (Cluster | NodePool)[],
  isProjected: boolean,
): Promise<boolean> {
  const object = await findByUid(tx, uid);
  const [first] = delivered;
  if (object === undefined || first === undefined) return false;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`marina audit ${uid}`}, 0))`);
  let last = (await findAudited(tx, [uid])).get(uid) ?? findFirst(object, first);
  const isBehind = (version: string) => BigInt(version) < BigInt(last.resourceVersion);
  const isRestored = object.resourceVersion < BigInt(last.resourceVersion);
  if (!isProjected && delivered.some(({ metadata }) => isBehind(metadata.resourceVersion ?? "0")))
    return false;
  const audits: ExternalAudit[] = [];
  for (const version of delivered) {
    const next = toAuditedState(version);
    if (next.resourceVersion === last.resourceVersion) continue;
    if (isBehind(next.resourceVersion) && !isRestored) continue;
    audits.push(...auditsOf(object, last, version));
    last = next;
  }
  await recordExternalAudits(tx, audits);
  await saveAudited(tx, uid, last);
  return true;
}

/**
 * What an object is compared with that was never audited: its first version, which has an audit row as its creation; or
 * what was projected, by an earlier release of this program, which compared nothing else.
 */
function findFirst({ object }: ProjectedObject, first: Cluster | NodePool): AuditedState {
  const [projected, delivered] = [object, first].map(toAuditedState);
  const isOlder = BigInt(projected?.resourceVersion ?? 0) < BigInt(delivered?.resourceVersion ?? 0);
  return (isOlder ? projected : delivered) as AuditedState;
}

function auditsOf(object: ProjectedObject, last: AuditedState, version: Cluster | NodePool): ExternalAudit[] {
  const kind = isPool(object) ? "node_pool" : "cluster";
  const gap = findGap(last, toAuditedState(version));
  const collapsed = gap && { collapsed: true, from_generation: gap.from, to_generation: gap.to };
  return findVersionChanges(last, version).map(({ manager, before, after }) => ({
    manager,
    entry: {
      action: `${kind}.update`,
      orgId: object.orgId,
      target: { kind, id: object.id },
      before,
      after: { ...after, ...collapsed },
      result: "done",
    },
  }));
}

async function findAudited(db: Queryable, uids: readonly string[]): Promise<Map<string, AuditedState>> {
  if (uids.length === 0) return new Map();
  const { uid, state } = auditedVersions;
  const rows = await db
    .select({ uid, state })
    .from(auditedVersions)
    .where(inArray(uid, [...uids]));
  return new Map(rows.map((row) => [row.uid, row.state]));
}

async function saveAudited(tx: Queryable, uid: string, state: AuditedState): Promise<void> {
  await tx
    .insert(auditedVersions)
    .values({ uid, state })
    .onConflictDoUpdate({ target: auditedVersions.uid, set: { state } });
}

/** Forgets objects whose tombstones are gone. */
export async function purgeAudited(db: Queryable): Promise<void> {
  await db.delete(auditedVersions).where(
    sql`not exists (select from projected_clusters as one where one.uid = ${auditedVersions.uid})
      and not exists (select from projected_node_pools as one where one.uid = ${auditedVersions.uid})`,
  );
}

/**
 * Versions of one object that cannot be projected yet; those between the first and the latest are dropped, which the
 * audit log says. The first and the last are kept in any case: with the cache that is three times what the Kubernetes
 * API stores of it.
 */
const MAX_VERSIONS = 100;
const MAX_CHARACTERS = 200_000;

type Version = Cluster | NodePool;

/** The versions of objects that the watches have delivered and that are not compared for the audit log yet. */
export interface UnauditedVersions {
  /** Adds a version, unless nothing that is audited differs from the one before it. */
  add(version: Version, previous: Version | undefined): void;
  /** Those of one object so far, the oldest first. */
  of(uid: string): readonly Version[];
  /** Removes those that are compared. */
  remove(uid: string, compared: readonly Version[]): void;
}

export function createUnauditedVersions(): UnauditedVersions {
  const versions = new Map<string, Version[]>();
  const sizes = new WeakMap<Version, number>();
  const exceeds = (kept: readonly Version[]) =>
    kept.length > MAX_VERSIONS ||
    kept.reduce((sum, version) => sum + (sizes.get(version) ?? 0), 0) > MAX_CHARACTERS;
  return {
    add(version, previous) {
      if (previous !== undefined && isSameState(toAuditedState(previous), toAuditedState(version))) return;
      const uid = version.metadata.uid ?? "";
      const kept = versions.get(uid) ?? [];
      const added = toStorable(trimVersion(version));
      sizes.set(added, JSON.stringify(added).length);
      kept.push(added);
      while (kept.length > 2 && exceeds(kept)) kept.splice(1, 1);
      versions.set(uid, kept);
    },
    of: (uid) => [...(versions.get(uid) ?? [])],
    remove(uid, compared) {
      const left = (versions.get(uid) ?? []).filter((version) => !compared.includes(version));
      if (left.length === 0) versions.delete(uid);
      else versions.set(uid, left);
    },
  };
}
