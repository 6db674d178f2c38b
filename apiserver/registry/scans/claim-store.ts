import { and, eq, type SQL, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { setExcluded } from "../../db/statement.ts";
import type { ScanReport } from "../report.ts";
import type { ScanError } from "./scan-error.ts";
import { PRIORITIES } from "./store.ts";
import { registryScans, registryScanTurns } from "./table.ts";

/** A scan that this process runs. */
export interface ClaimedScan {
  orgId: string;
  digest: string;
  repository: string;
  claimId: string;
  /** Attempts that failed before. */
  attempts: number;
  /** How many critical vulnerabilities the last report has; 0 without one. */
  knownCritical: number;
}

/** Scans that are checked per organization: other processes may be claiming the first ones at this moment. */
const CANDIDATES = 8;

/**
 * Claims the scan that is due: what a new vulnerability database caused comes after all else; of the organization whose
 * last scan started first, and of those by priority, then the one that has waited longest. A claim that is not completed
 * in time is claimed again.
 */
export async function claimScan(
  db: Queryable,
  { at, leaseSeconds }: { at: Date; leaseSeconds: number },
): Promise<ClaimedScan | undefined> {
  const claimId = createId();
  const [row] = await db
    .update(registryScans)
    .set({
      state: "running",
      claimId,
      startedAt: at,
      dueAt: new Date(at.getTime() + leaseSeconds * 1000),
    })
    // With `in` the plan may execute the query more than once, and each time claim another scan.
    .where(sql`(${registryScans.orgId}, ${registryScans.digest}) = (${selectNext(at)})`)
    .returning();
  if (row === undefined) return undefined;
  const { orgId, digest, repository, attempts, summary } = row;
  await db
    .insert(registryScanTurns)
    .values({ orgId, startedAt: at })
    .onConflictDoUpdate({ target: registryScanTurns.orgId, set: setExcluded(registryScanTurns) });
  return { orgId, digest, repository, claimId, attempts, knownCritical: summary?.Critical ?? 0 };
}

/** Reads one index entry for each organization that waits and its first scans, however many of them are due. */
function selectNext(at: Date): SQL {
  const isDue = sql`due_at <= ${at.toISOString()}::timestamptz`;
  return sql`
    with recursive waiting as (
      (select org_id from ${registryScans} where due_at is not null order by org_id limit 1)
      union all
      select (
        select next.org_id from ${registryScans} as next
        where next.due_at is not null and next.org_id > waiting.org_id order by next.org_id limit 1
      ) from waiting where waiting.org_id is not null
    )
    select scan.org_id, scan.digest from waiting
    left join ${registryScanTurns} as turn on turn.org_id = waiting.org_id
    cross join lateral (
      select digest from ${registryScans} as due where due.org_id = waiting.org_id and ${isDue}
      order by due.priority, due.due_at limit ${CANDIDATES}
    ) as candidate
    join ${registryScans} as scan on scan.org_id = waiting.org_id and scan.digest = candidate.digest
    where scan.${isDue}
    order by scan.priority = ${PRIORITIES.newDatabase}, turn.started_at nulls first, scan.priority, scan.due_at
    limit 1 for update of scan skip locked`;
}

const isClaimed = ({ orgId, digest, claimId }: ClaimedScan) =>
  and(eq(registryScans.orgId, orgId), eq(registryScans.digest, digest), eq(registryScans.claimId, claimId));

const ENDED = { dueAt: null, claimId: null, attempts: 0 };

/** Lets a claim last until `endsAt`; false when it has ended and another process may run the scan. */
export async function extendClaim(db: Queryable, scan: ClaimedScan, endsAt: Date): Promise<boolean> {
  const rows = await db
    .update(registryScans)
    .set({ dueAt: endsAt })
    .where(isClaimed(scan))
    .returning({ digest: registryScans.digest });
  return rows.length > 0;
}

/** Stores a report; false when the claim has ended, and nothing is stored. */
export async function completeScan(
  tx: Queryable,
  scan: ClaimedScan,
  { report, databaseVersion, at }: { report: ScanReport; databaseVersion: string; at: Date },
): Promise<boolean> {
  const rows = await tx
    .update(registryScans)
    .set({
      ...ENDED,
      state: "success",
      fault: null,
      faultMessage: null,
      scannedAt: at,
      databaseVersion,
      summary: report.summary,
      vulnerabilities: report.vulnerabilities,
    })
    .where(isClaimed(scan))
    .returning({ digest: registryScans.digest });
  return rows.length > 0;
}

/** Ends a scan of what is no image. */
export async function markUnsupported(db: Queryable, scan: ClaimedScan, reason: string): Promise<void> {
  await db
    .update(registryScans)
    .set({ ...ENDED, state: "unsupported", fault: null, faultMessage: reason })
    .where(isClaimed(scan));
}

/** Ends a scan that failed. The last report stays. */
export async function failScan(db: Queryable, scan: ClaimedScan, error: ScanError): Promise<void> {
  await db
    .update(registryScans)
    .set({ ...ENDED, state: "error", fault: error.fault, faultMessage: error.message })
    .where(isClaimed(scan));
}

/** Gives a claim back, to be tried again at `dueAt`. */
export async function postponeScan(
  db: Queryable,
  scan: ClaimedScan,
  { attempts, dueAt }: { attempts: number; dueAt: Date },
): Promise<void> {
  await db
    .update(registryScans)
    .set({ state: "pending", claimId: null, attempts, dueAt })
    .where(isClaimed(scan));
}

/** Forgets the scan of an image that is in the registry no longer. */
export async function deleteScan(db: Queryable, scan: ClaimedScan): Promise<void> {
  await db.delete(registryScans).where(isClaimed(scan));
}
