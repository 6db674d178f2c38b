import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { createClaims } from "../../work/claim.ts";
import type { ScanReport, ScanState } from "../report.ts";
import { registryUsage } from "../usage/table.ts";
import type { ScanFault } from "./scan-error.ts";
import { PRIORITIES } from "./store.ts";
import { registryScans } from "./table.ts";

/** A scan that this process runs. */
export interface ClaimedScan {
  orgId: string;
  digest: string;
  repository: string;
  claimId: string;
  /** Attempts since the scan was requested, with this one: one that ends with its process counts too. */
  attempts: number;
  /** The attempt before ended with its process. */
  mustRunAlone: boolean;
  /** How many critical vulnerabilities the last report has; 0 without one. */
  knownCritical: number;
}

/** The claims of scans; a scan that is done stays, with its report. */
export const scanClaims = createClaims(registryScans, ["orgId", "digest"]);

/** One retry. After an attempt that ended with its process it runs alone: it ends by no fault of another image. */
export const MAX_SCAN_ATTEMPTS = 2;

/** Scans that are checked per organization: other processes may be claiming the first ones at this moment. */
const CANDIDATES = 8;

/**
 * Claims the scan that is due: what a new vulnerability database caused comes after all else; of the organization whose
 * last scan started first, and of those by priority, then the one that has waited longest. A claim that is not
 * completed in time is claimed again. None while it has to run alone and the process is not idle: that ends what it has begun first.
 */
export async function claimScan(
  db: Queryable,
  { at, leaseSeconds, isIdle }: { at: Date; leaseSeconds: number; isIdle: boolean },
): Promise<ClaimedScan | undefined> {
  const { attempts: former, fault } = registryScans;
  const mayRun = sql`(${isIdle} or ${former} <> ${MAX_SCAN_ATTEMPTS - 1} or ${fault} is not null)`;
  const next = sql`(${registryScans.orgId}, ${registryScans.digest}) = (${selectNext(at)}) and ${mayRun}`;
  const set = {
    state: "running" as const,
    startedAt: at,
    attempts: sql`${former} + 1`,
    // The fault of the attempt before stays: none where that ended with its process.
    fault: sql`case when ${former} > 0 then ${fault} end`,
  };
  const [row] = await scanClaims.take(db, next, { leaseSeconds, at, set });
  if (row === undefined) return undefined;
  const { orgId, digest, repository, claimId, attempts, summary } = row;
  await db
    .insert(registryUsage)
    .values({ orgId, scanStartedAt: at })
    .onConflictDoUpdate({ target: registryUsage.orgId, set: { scanStartedAt: at } });
  const mustRunAlone = attempts >= MAX_SCAN_ATTEMPTS && row.fault === null;
  return {
    orgId,
    digest,
    repository,
    claimId,
    attempts,
    mustRunAlone,
    knownCritical: summary?.Critical ?? 0,
  };
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
    left join ${registryUsage} as usage on usage.org_id = waiting.org_id
    cross join lateral (
      select digest from ${registryScans} as due where due.org_id = waiting.org_id and ${isDue}
      order by due.priority, due.due_at limit ${CANDIDATES}
    ) as candidate
    join ${registryScans} as scan on scan.org_id = waiting.org_id and scan.digest = candidate.digest
    where scan.${isDue}
    order by scan.priority = ${PRIORITIES.newDatabase}, usage.scan_started_at nulls first, scan.priority, scan.due_at
    limit 1 for update of scan skip locked`;
}

/** What ends a scan without a report; the last one stays. */
export function endedAs(state: ScanState, fault: ScanFault | null, faultMessage: string) {
  return { state, fault, faultMessage, attempts: 0 };
}

/** Stores a report; false when the claim has ended, and nothing is stored. */
export function completeScan(
  tx: Queryable,
  scan: ClaimedScan,
  { report, databaseVersion, at }: { report: ScanReport; databaseVersion: string; at: Date },
): Promise<boolean> {
  const { summary, vulnerabilities } = report;
  const result = { scannedAt: at, databaseVersion, summary, vulnerabilities };
  const ended = { state: "success", fault: null, faultMessage: null, attempts: 0 } as const;
  return scanClaims.complete(tx, scan, { ...ended, ...result });
}
