import { and, asc, desc, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { FINALIZER } from "../../../shared/crd/names.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { chunk } from "../../db/statement.ts";
import { organizations } from "../../organizations/index.ts";
import { clusterRecords, projectedClusters, projectedNodePools } from "../../resources/project/table.ts";
import { markDue } from "../budgets/store.ts";
import type { UsageInterval } from "../resource-types.ts";
import { type LatestIntervals, type LedgerChanges, setLatestInterval } from "./apply-evidence.ts";
import type { Evidence, EvidenceKind, Metered } from "./evidence.ts";
import { usageEvidence, usageFigures, usageIntervals, usageRounds, usageSources } from "./table.ts";

/** Until the end of the transaction no other one writes to the ledger. */
export async function lockLedger(tx: Queryable): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina usage ledger', 0))`);
}

/** The last intervals of these subjects. */
export async function readLatestIntervals(
  tx: Queryable,
  subjects: readonly string[],
): Promise<LatestIntervals> {
  const latest: LatestIntervals = new Map();
  if (subjects.length === 0) return latest;
  const { id, subject, resourceType, quantity, startedAt, endedAt } = usageIntervals;
  const rows = await tx
    .selectDistinctOn([subject, resourceType], { id, subject, resourceType, quantity, startedAt, endedAt })
    .from(usageIntervals)
    .where(and(sql`${subject} in ${valuesOf(subjects)}`, isNull(usageIntervals.correctionOf)))
    .orderBy(subject, resourceType, sql`${endedAt} desc nulls first`, desc(startedAt));
  for (const { subject: of, ...interval } of rows) setLatestInterval(latest, of, interval);
  return latest;
}

/** The machines in use of each of these node pools, by the pool's id. */
export async function readRunningMachines(
  tx: Queryable,
  nodePoolIds: readonly string[],
): Promise<Map<string, Set<string>>> {
  const running = new Map(nodePoolIds.map((id) => [id, new Set<string>()]));
  if (nodePoolIds.length === 0) return running;
  const rows = await tx
    .select({ nodePoolId: usageIntervals.nodePoolId, subject: usageIntervals.subject })
    .from(usageIntervals)
    .where(and(inArray(usageIntervals.nodePoolId, [...nodePoolIds]), isNull(usageIntervals.endedAt)));
  for (const { nodePoolId, subject } of rows) running.get(nodePoolId ?? "")?.add(subject);
  return running;
}

/** Whose each of these was when it was last metered, by kind; without those of a Cluster or NodePool that records them. */
export async function readLastMetered(
  tx: Queryable,
  subjects: readonly string[],
  kinds: readonly EvidenceKind[],
): Promise<Metered[]> {
  return selectMetered(tx, kinds, and(inArray(usageIntervals.subject, [...subjects]), isWithoutObject()));
}

/**
 * What is in use of a Cluster or NodePool that does not exist, is finalized, or does not list it, by kind; without
 * those whose end is not in the ledger yet.
 */
export async function listRunningWithoutObject(
  tx: Queryable,
  kinds: readonly EvidenceKind[],
): Promise<Metered[]> {
  return selectMetered(tx, kinds, and(isNull(usageIntervals.endedAt), isWithoutObject()));
}

/**
 * Those of these machines that a node pool lists, whichever pool they were metered under. A deleted pool counts until
 * its deletion is in the ledger.
 */
export async function readListedMachines(
  tx: Queryable,
  machines: readonly Pick<Metered, "organizationId" | "subject">[],
): Promise<Set<string>> {
  if (machines.length === 0) return new Set();
  const rows = await tx.execute<{ uid: string }>(sql`select machine ->> 'uid' as uid
    from ${projectedNodePools} as object
    cross join jsonb_array_elements(object.object -> 'status' -> 'machines') as machine
    where object.org_id::text in ${valuesOf(machines.map(({ organizationId }) => organizationId))}
      and machine ->> 'uid' in ${valuesOf(machines.map(({ subject }) => subject))} and ${isOpen(isDeleted)}`);
  return new Set(rows.map(({ uid }) => uid));
}

/** As one parameter, however many there are. */
function valuesOf(values: readonly string[]): SQL {
  return sql`(select json_array_elements_text(${JSON.stringify([...new Set(values)])}::text::json))`;
}

const isDeleted = sql`object.deleted_at is not null`;

/** Others keep it by finalizers of theirs, and the operator's is gone: the ledger ends it as one that is deleted. */
const isFinalized = sql`(object.object #> '{metadata,deletionTimestamp}' is not null
  and not coalesce(object.object #> '{metadata,finalizers}' ? ${FINALIZER}, false))`;

/** A projected `object` is not over, or its present state is not in the ledger yet. */
const isOpen = (isOver: SQL) => sql`(not (${isOver}) or not exists (
  select from ${usageSources} as source where source.uid = object.uid
    and source.resource_version = object.resource_version and source.is_deleted = (${isDeleted})))`;

/**
 * The pool of an interval, or its cluster where it has none, does not exist, and its deletion is in the ledger. A pool
 * counts for the machines that it lists alone, also one that is finalized: of others that run, as when its finalizer
 * was removed by force, it shows nothing. Nor does a finalized Cluster.
 */
function isWithoutObject(): SQL {
  const { clusterId, nodePoolId, subject } = usageIntervals;
  const isOver = sql`${isDeleted} or not coalesce(
    object.object #> '{status,machines}' @> jsonb_build_array(jsonb_build_object('uid', ${subject})), false)`;
  return sql`not (${nodePoolId} is null and exists (select from ${projectedClusters} as object
      where object.id = ${clusterId} and ${isOpen(sql`${isDeleted} or ${isFinalized}`)})
    or exists (select from ${projectedNodePools} as object where object.id = ${nodePoolId} and ${isOpen(isOver)}))`;
}

async function selectMetered(
  tx: Queryable,
  kinds: readonly EvidenceKind[],
  where: SQL | undefined,
): Promise<Metered[]> {
  const { organizationId, subject, clusterId, clusterName, nodePoolId, startedAt } = usageIntervals;
  const { kind, objectUid } = usageEvidence;
  const place = { clusterId, clusterName, nodePoolId };
  return tx
    .selectDistinctOn([subject, kind], { organizationId, kind, subject, objectUid, ...place })
    .from(usageIntervals)
    .innerJoin(usageEvidence, eq(usageEvidence.id, usageIntervals.evidenceId))
    .where(and(isNull(usageIntervals.correctionOf), inArray(kind, [...kinds]), where))
    .orderBy(subject, kind, desc(startedAt));
}

/** Adds evidence with what follows from it; the budgets of its organizations are compared in the next round. */
export async function writeLedger(
  tx: Queryable,
  evidence: readonly Evidence[],
  { opened, ended }: LedgerChanges,
  observedAt: Date,
): Promise<void> {
  for (const rows of chunk(evidence.map((item) => ({ ...item, observedAt }))))
    await tx.insert(usageEvidence).values(rows);
  // Before the others, for of one subject and resource type one interval runs at a time.
  if (ended.length > 0)
    await tx.execute(sql`update ${usageIntervals} set ended_at = change."endedAt"
      from json_to_recordset(${JSON.stringify(ended)}::text::json) as change (id uuid, "endedAt" timestamptz)
      where ${usageIntervals.id} = change.id and ${usageIntervals.endedAt} is null`);
  for (const rows of chunk(opened)) await tx.insert(usageIntervals).values(rows);
  await markDue(tx, [...new Set(evidence.map(({ organizationId }) => organizationId))], observedAt);
}

/** All evidence in the order in which it was stored. */
export async function listEvidence(db: Queryable): Promise<Evidence[]> {
  const { id, organizationId, kind, subject, objectUid, sample } = usageEvidence;
  return db
    .select({ id, organizationId, kind, subject, objectUid, sample })
    .from(usageEvidence)
    .orderBy(asc(usageEvidence.sequence));
}

/**
 * Until when everything that existed has been seen and is in the ledger; undefined: no round has been completed yet.
 */
export async function readSeenAt(db: Queryable): Promise<Date | undefined> {
  const [row] = await db.select({ seenAt: usageRounds.seenAt }).from(usageRounds);
  return row?.seenAt;
}

/** A round that began at `seenAt` has been completed. */
export async function writeSeenAt(db: Queryable, seenAt: Date): Promise<void> {
  await db
    .insert(usageRounds)
    .values({ seenAt })
    .onConflictDoUpdate({ target: usageRounds.id, set: { seenAt } });
}

/** The times of the newest figures of a kind that were checked for the ledger, by subject. */
export async function readFigureTimes(tx: Queryable, kind: EvidenceKind): Promise<Map<string, Date>> {
  const rows = await tx.select().from(usageFigures).where(eq(usageFigures.kind, kind));
  return new Map(rows.map(({ subject, measuredAt }) => [subject, measuredAt]));
}

/** Records that the figures of these times were checked for the ledger, by subject. */
export async function upsertFigureTimes(
  tx: Queryable,
  kind: EvidenceKind,
  times: ReadonlyMap<string, Date>,
): Promise<void> {
  for (const rows of chunk([...times].map(([subject, measuredAt]) => ({ kind, subject, measuredAt }))))
    await tx
      .insert(usageFigures)
      .values(rows)
      .onConflictDoUpdate({
        target: [usageFigures.kind, usageFigures.subject],
        set: { measuredAt: sql`excluded.measured_at` },
      });
}

/** After an organization is deleted its storage may report figures until its Namespace is deleted. */
const FIGURE_DAYS = 30;

/**
 * Deletes what the ledger has noted of objects that nothing can be seen of any more: versions of Clusters and NodePools
 * of which the projection keeps not even a tombstone, and the times of figures of organizations deleted long ago. The
 * ledger and its evidence stay unchanged: neither is made from these notes.
 */
export async function purgeNotes(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await lockLedger(tx);
    await deleteSources(tx);
    await deleteFigures(tx);
  });
}

async function deleteSources(tx: Queryable): Promise<void> {
  const isGone = (table: typeof projectedClusters | typeof projectedNodePools) =>
    sql`not exists (select from ${table} as seen where seen.uid = ${usageSources}.uid)`;
  await tx.delete(usageSources).where(sql`${isGone(projectedClusters)} and ${isGone(projectedNodePools)}`);
}

/** What still runs ends by the time of its figure, which therefore stays. */
async function deleteFigures(tx: Queryable): Promise<void> {
  await tx.delete(usageFigures).where(sql`exists (
      select from ${organizations} as owner where owner.id::text = ${usageFigures}.subject
        and owner.deleted_at < now() - make_interval(days => ${FIGURE_DAYS}))
    and not exists (select from ${usageIntervals} as running
      where running.subject = ${usageFigures}.subject and running.ended_at is null)`);
}

/**
 * Seconds since the epoch: for 11,000 rows dates as text and drizzle's mapping of each column take as long as all else.
 */
interface IntervalRow
  extends Record<string, unknown>,
    Omit<UsageInterval, "quantity" | "startedAt" | "endedAt"> {
  quantity: string;
  startedAtSeconds: number;
  endedAtSeconds: number | null;
}

/**
 * The intervals of organizations, corrections included, that have a part in the half-open time from `from` to `to`: as
 * they are stored, not cut to that time, in no order. With a limit, at most so many of them. A cluster has the name
 * that it has now, whatever it was called when its use began.
 */
export async function readUsageIntervals(
  db: Queryable,
  organizationIds: readonly string[],
  { from, to, limit }: { from: Date; to: Date; limit?: number | undefined },
): Promise<UsageInterval[]> {
  const { organizationId, startedAt, endedAt } = usageIntervals;
  const rows = await db.execute<IntervalRow>(sql`
    select organization_id as "organizationId", cluster_id as "clusterId",
      coalesce(${clusterRecords.name}, cluster_name) as "clusterName",
      node_pool_id as "nodePoolId", resource_type as "resourceType", quantity,
      date_part('epoch', ${startedAt}) as "startedAtSeconds", date_part('epoch', ${endedAt}) as "endedAtSeconds"
    from ${usageIntervals}
    left join ${clusterRecords}
      on ${clusterRecords.id} = cluster_id and ${clusterRecords.orgId} = organization_id
    where ${inArray(organizationId, [...organizationIds])}
      and coalesce(${endedAt}, 'infinity'::timestamptz) > ${from.toISOString()}::timestamptz
      and ${startedAt} < ${to.toISOString()}::timestamptz
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`);
  return rows.map((row) => ({
    organizationId: row.organizationId,
    clusterId: row.clusterId,
    clusterName: row.clusterName,
    nodePoolId: row.nodePoolId,
    resourceType: row.resourceType,
    quantity: BigInt(row.quantity),
    startedAt: new Date(row.startedAtSeconds * 1000),
    endedAt: row.endedAtSeconds === null ? null : new Date(row.endedAtSeconds * 1000),
  }));
}
