import { and, eq, inArray, isNull, lt, ne, sql } from "drizzle-orm";
import { chunk } from "../../db/chunk.ts";
import type { Queryable } from "../../db/client.ts";
import { registryScans, type ScanRow } from "./table.ts";

/** Who asks for a scan: the lower number is scanned first. */
export const PRIORITIES = { requested: 0, pushed: 1, sweep: 2, newDatabase: 3 } as const;

export interface ScanRequest {
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

/** The scan of one digest of an organization; undefined when none was requested. */
export async function findScan(db: Queryable, orgId: string, digest: string): Promise<ScanRow | undefined> {
  const [row] = await db
    .select()
    .from(registryScans)
    .where(and(eq(registryScans.orgId, orgId), eq(registryScans.digest, digest)));
  return row;
}

/** Requests a scan, also of what was scanned before; one that is pending or runs goes on. Returns its row. */
export async function requestScan(tx: Queryable, request: ScanRequest): Promise<ScanRow> {
  const { repository, priority, at } = request;
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
    .returning();
  if (row === undefined) throw new Error("an upsert returned no row");
  return row;
}

/** Requests a scan of digests that have none, and notes that the others are in use. */
export async function requestMissingScans(tx: Queryable, requests: readonly ScanRequest[]): Promise<void> {
  for (const rows of chunk(requests.map(pendingValues))) {
    await tx
      .insert(registryScans)
      .values(rows)
      .onConflictDoUpdate({
        target: [registryScans.orgId, registryScans.digest],
        set: { usedAt: sql`greatest(${registryScans.usedAt}, excluded.used_at)` },
      });
  }
}

/** Requests the scans again that were made with another database, of images in use since `usedSince`; at most `limit`. */
export async function requestOutdatedScans(
  tx: Queryable,
  {
    databaseVersion,
    usedSince,
    at,
    limit,
  }: { databaseVersion: string; usedSince: Date; at: Date; limit: number },
): Promise<number> {
  const outdated = tx
    .select({ orgId: registryScans.orgId, digest: registryScans.digest })
    .from(registryScans)
    .where(
      and(
        eq(registryScans.state, "success"),
        ne(registryScans.databaseVersion, databaseVersion),
        sql`${registryScans.usedAt} >= ${usedSince.toISOString()}::timestamptz`,
      ),
    )
    .limit(limit)
    .for("update", { skipLocked: true });
  const rows = await tx
    .update(registryScans)
    .set({ state: "pending", priority: PRIORITIES.newDatabase, attempts: 0, dueAt: at })
    .where(sql`(${registryScans.orgId}, ${registryScans.digest}) in ${outdated}`)
    .returning({ digest: registryScans.digest });
  return rows.length;
}

/** Which of these digests of an organization have a scan in any state. */
export async function findDigestsWithScan(
  db: Queryable,
  orgId: string,
  digests: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const part of chunk(digests)) {
    const rows = await db
      .select({ digest: registryScans.digest })
      .from(registryScans)
      .where(and(eq(registryScans.orgId, orgId), inArray(registryScans.digest, part)));
    for (const { digest } of rows) found.add(digest);
  }
  return found;
}

/** Notes that images were pulled; those that were never to be scanned stay so. */
export async function touchScans(
  tx: Queryable,
  orgId: string,
  digests: readonly string[],
  at: Date,
): Promise<void> {
  await tx
    .update(registryScans)
    .set({ usedAt: at })
    .where(
      and(
        eq(registryScans.orgId, orgId),
        inArray(registryScans.digest, [...digests]),
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
 * Deletes the results of an organization for images that are not in `keep` and that nobody has pushed or pulled since
 * `usedBefore`. Scans that are pending or run end by themselves when their image is gone.
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
