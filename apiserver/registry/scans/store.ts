import { and, count, eq, gte, inArray, isNotNull, isNull, lt, ne, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { chunk } from "../../db/statement.ts";
import { ApiError, describeExcess, type QuotaFigures } from "../../http/errors.ts";
import { findKnownDigests } from "../usage/store.ts";
import { registryScans, type ScanRow } from "./table.ts";

/** Who asks for a scan: the lower number is scanned first. */
export const PRIORITIES = { requested: 0, pushed: 1, sweep: 2, newDatabase: 3 } as const;

interface ScanRequest {
  orgId: string;
  digest: string;
  /** Without the organization's prefix. */
  repository: string;
  priority: (typeof PRIORITIES)[keyof typeof PRIORITIES];
  at: Date;
}

const pendingValues = ({ orgId, digest, repository, priority, at }: ScanRequest) => ({
  orgId,
  digest,
  repository,
  state: "pending" as const,
  priority,
  attempts: 0,
  dueAt: at,
  usedAt: at,
});

const summaryColumns = {
  state: registryScans.state,
  dueAt: registryScans.dueAt,
  scannedAt: registryScans.scannedAt,
  databaseVersion: registryScans.databaseVersion,
  summary: registryScans.summary,
};

type SummaryRow = Pick<ScanRow, keyof typeof summaryColumns>;

/** The scan of one digest of an organization without its vulnerabilities, which may have 8 MiB; undefined when none was requested. */
export async function findScanSummary(
  db: Queryable,
  orgId: string,
  digest: string,
): Promise<SummaryRow | undefined> {
  const [row] = await db
    .select(summaryColumns)
    .from(registryScans)
    .where(and(eq(registryScans.orgId, orgId), eq(registryScans.digest, digest)));
  return row;
}

/** The scan of one digest of an organization; undefined when none was requested. */
export async function findScan(db: Queryable, orgId: string, digest: string): Promise<ScanRow | undefined> {
  const [row] = await db
    .select()
    .from(registryScans)
    .where(and(eq(registryScans.orgId, orgId), eq(registryScans.digest, digest)));
  return row;
}

/** Scans of an organization that are pending or run at once; what is pushed beyond it is found by a later sweep. */
export const MAX_PENDING = 1000;
/** How many of these may be scans that no user waits for. */
const MAX_PENDING_UNASKED = 500;
const RETRY_AFTER_SECONDS = 60;

/** The pending scans of an organization, those that run included, as one of its stores. */
export async function readScanStore(
  db: Queryable,
  orgId: string,
): Promise<{ pending_image_scans: QuotaFigures }> {
  const pending = db
    .select({ digest: registryScans.digest })
    .from(registryScans)
    .where(and(eq(registryScans.orgId, orgId), isNotNull(registryScans.dueAt)))
    .limit(MAX_PENDING)
    .as("pending");
  const [row] = await db.select({ used: count() }).from(pending);
  return { pending_image_scans: { limit: MAX_PENDING, used: row?.used ?? 0 } };
}

/** How many more scans of an organization may be pending; 0 when there are more than that already. */
async function findFreeCapacity(
  tx: Queryable,
  orgId: string,
  priority: ScanRequest["priority"],
): Promise<number> {
  const { used } = (await readScanStore(tx, orgId)).pending_image_scans;
  const limit = priority <= PRIORITIES.pushed ? MAX_PENDING : MAX_PENDING_UNASKED;
  return Math.max(0, limit - used);
}

/**
 * Requests a scan, also of what was scanned before; one that is pending or runs goes on. Returns its row, and whether it
 * is scanned again, or sooner than it was. Throws 429 when too many scans of the organization are pending.
 */
export async function requestScan(
  tx: Queryable,
  request: ScanRequest,
): Promise<SummaryRow & { hasChanged: boolean }> {
  const { orgId, digest, repository, priority, at } = request;
  // Under the lock of its row: one that is active then is active still when it is changed below.
  const [known] = await tx
    .select({ dueAt: registryScans.dueAt, priority: registryScans.priority })
    .from(registryScans)
    .where(and(eq(registryScans.orgId, orgId), eq(registryScans.digest, digest)))
    .for("no key update");
  const active = known === undefined || known.dueAt === null ? undefined : known;
  if (active === undefined && (await findFreeCapacity(tx, orgId, priority)) === 0)
    throw new ApiError("rate_limited", `${MAX_PENDING} scans of this organization are pending; try again.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      details: [describeExcess("pending_image_scans", { limit: MAX_PENDING, used: MAX_PENDING })],
    });
  const isActive = inArray(registryScans.state, ["pending", "running"]);
  const [row] = await tx
    .insert(registryScans)
    .values(pendingValues(request))
    .onConflictDoUpdate({
      target: [registryScans.orgId, registryScans.digest],
      set: {
        repository,
        usedAt: at,
        priority: sql`case when ${isActive} then least(${registryScans.priority}, ${priority}) else ${priority} end`,
        state: sql`case when ${isActive} then ${registryScans.state} else 'pending' end`,
        attempts: sql`case when ${isActive} then ${registryScans.attempts} else 0 end`,
        dueAt: sql`case when ${isActive} then ${registryScans.dueAt} else ${at.toISOString()}::timestamptz end`,
      },
    })
    .returning(summaryColumns);
  if (row === undefined) throw new Error("an upsert returned no row");
  return { ...row, hasChanged: active === undefined || active.priority > priority };
}

/**
 * Requests a scan of digests of one organization that have none, as many as may be pending, and notes that the others
 * are in use.
 */
export async function requestMissingScans(
  tx: Queryable,
  orgId: string,
  requests: readonly Omit<ScanRequest, "orgId">[],
): Promise<void> {
  const [first] = requests;
  if (first === undefined) return;
  const known = await findKnownDigests(
    tx,
    registryScans,
    orgId,
    requests.map(({ digest }) => digest),
  );
  const missing = requests.filter(({ digest }) => !known.has(digest));
  const rows = missing
    .slice(0, await findFreeCapacity(tx, orgId, first.priority))
    .map((request) => pendingValues({ ...request, orgId }));
  if (rows.length > 0) await tx.insert(registryScans).values(rows).onConflictDoNothing();
  await touchScans(tx, orgId, [...known], first.at);
}

interface OutdatedScans {
  databaseVersion: string;
  /** Only images that were pushed or pulled since then. */
  usedSince: Date;
  at: Date;
}

/** Requests the scans again that were made with another database, of each organization as many as may be pending. */
export async function requestOutdatedScans(
  tx: Queryable,
  { databaseVersion, usedSince, at }: OutdatedScans,
): Promise<number> {
  const isOutdated = and(
    eq(registryScans.state, "success"),
    ne(registryScans.databaseVersion, databaseVersion),
    gte(registryScans.usedAt, usedSince),
  );
  const organizations = await tx
    .select({ orgId: registryScans.orgId })
    .from(registryScans)
    .where(isOutdated)
    .groupBy(registryScans.orgId);
  let total = 0;
  for (const { orgId } of organizations) {
    const isOfOrganization = and(eq(registryScans.orgId, orgId), isOutdated);
    const outdated = await tx
      .select({ digest: registryScans.digest })
      .from(registryScans)
      .where(isOfOrganization)
      .limit(await findFreeCapacity(tx, orgId, PRIORITIES.newDatabase));
    const digests = outdated.map(({ digest }) => digest);
    const rows = await tx
      .update(registryScans)
      .set({ state: "pending", priority: PRIORITIES.newDatabase, attempts: 0, dueAt: at })
      .where(and(isOfOrganization, inArray(registryScans.digest, digests)))
      .returning({ digest: registryScans.digest });
    total += rows.length;
  }
  return total;
}

/** Notes that images were pulled; those that were never to be scanned stay so. */
export async function touchScans(
  tx: Queryable,
  orgId: string,
  digests: readonly string[],
  at: Date,
): Promise<void> {
  for (const part of chunk(digests))
    await tx
      .update(registryScans)
      .set({ usedAt: at })
      .where(
        and(
          eq(registryScans.orgId, orgId),
          inArray(registryScans.digest, part),
          lt(registryScans.usedAt, at),
        ),
      );
}

/** The organizations that have scans, deleted ones too. */
export async function listScannedOrganizations(db: Queryable): Promise<string[]> {
  const rows = await db
    .selectDistinctOn([registryScans.orgId], { orgId: registryScans.orgId })
    .from(registryScans);
  return rows.map(({ orgId }) => orgId);
}

/**
 * Deletes the results of an organization for images that are not in `keep` and were not pushed or pulled since
 * `usedBefore`. Scans that are pending or running end by themselves when their image is deleted.
 */
export async function deleteScansExcept(
  db: Queryable,
  orgId: string,
  { keep, usedBefore }: { keep: ReadonlySet<string>; usedBefore: Date },
): Promise<void> {
  const isUnused = and(
    eq(registryScans.orgId, orgId),
    isNull(registryScans.dueAt),
    lt(registryScans.usedAt, usedBefore),
  );
  const rows = await db.select({ digest: registryScans.digest }).from(registryScans).where(isUnused);
  const ended = rows.map(({ digest }) => digest).filter((digest) => !keep.has(digest));
  for (const digests of chunk(ended))
    await db.delete(registryScans).where(and(isUnused, inArray(registryScans.digest, digests)));
}
