import { recordSystemAudits } from "../../audit/index.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { OwnScans } from "../backend/backend.ts";
import { repositoryPrefix } from "../names.ts";
import type { ImageScan } from "../report.ts";
import { type ClaimedScan, completeScan } from "./claim-store.ts";
import { dropOldReports, findReportTimes, replaceReport, type ScannedImage } from "./report-store.ts";
import { findScan, findScanSummary } from "./store.ts";

/**
 * Stores what Marina's scanner found, with a row in the audit log when more of it is critical than in the report
 * before, and keeps at most `maxBytes` of reports of its organization; nothing when the claim has ended.
 */
export async function recordReport(
  db: Database,
  scan: ClaimedScan,
  completion: Parameters<typeof completeScan>[2],
  maxBytes?: number,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await completeScan(tx, scan, completion))) return;
    const { Critical: found } = completion.report.summary;
    await settleReport(tx, scan, { known: scan.knownCritical, found }, maxBytes);
  });
}

/**
 * A scan of a registry that scans its images itself; while it has no report, with the last one. A report that is new is
 * kept for that, with the same row in the audit log.
 */
export async function keepReport(
  db: Database,
  image: ScannedImage,
  scan: ImageScan,
  at: Date,
): Promise<ImageScan> {
  const { state, ...report } = scan;
  const { orgId, digest } = image;
  if (report.summary === null) {
    const last = await findScan(db, orgId, digest);
    return last === undefined ? scan : { ...last, state };
  }
  const known = await findScanSummary(db, orgId, digest);
  if (report.scannedAt === null || report.scannedAt.getTime() === known?.scannedAt?.getTime()) return scan;
  const found = report.summary.Critical;
  await db.transaction(async (tx) => {
    // Another process may have kept it since `known` was read, and has written the row of the audit log.
    const isKept = await replaceReport(tx, image, { ...scan, at }, known?.scannedAt ?? null);
    if (isKept) await settleReport(tx, image, { known: known?.summary?.Critical ?? 0, found });
  });
  return scan;
}

/**
 * Keeps the reports of a registry that scans its images itself which are new, of one repository, until `signal` aborts.
 */
export async function keepNewReports(
  db: Database,
  scans: OwnScans,
  { orgId, repository, digests }: { orgId: string; repository: string; digests: readonly string[] },
  { now, signal }: { now: () => Date; signal?: AbortSignal },
): Promise<void> {
  const name = `${repositoryPrefix(orgId)}${repository}`;
  const known = await findReportTimes(db, orgId, digests);
  for (const digest of digests) {
    if (signal?.aborted) return;
    const scannedAt = (await scans.findVersion(name, digest))?.scannedAt ?? undefined;
    if (scannedAt === undefined || scannedAt.getTime() === known.get(digest)?.getTime()) continue;
    const scan = await scans.find(name, digest);
    if (scan !== undefined) await keepReport(db, { orgId, digest, repository }, scan, now());
  }
}

/** What follows from a report that was stored: others of its organization may be too many, and more may be critical than before. */
async function settleReport(
  tx: Queryable,
  { orgId, digest, repository }: ScannedImage,
  { known, found }: { known: number; found: number },
  maxBytes?: number,
): Promise<void> {
  await dropOldReports(tx, orgId, maxBytes);
  if (found <= known) return;
  await recordSystemAudits(tx, "scanner", [
    {
      action: "image.critical_found",
      orgId,
      target: { kind: "image", id: digest },
      after: { repository, critical: found },
      result: "done",
    },
  ]);
}
