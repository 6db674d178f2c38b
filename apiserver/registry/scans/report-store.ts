import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { chunk } from "../../db/statement.ts";
import type { QuotaFigures } from "../../http/errors.ts";
import type { ImageScan } from "../report.ts";
import { PRIORITIES } from "./store.ts";
import { registryScans } from "./table.ts";

/** The reports of one organization, in bytes as Postgres stores them: compressed, those of some 5,000 images. */
const MAX_STORED_REPORT_BYTES = 268_435_456;

const storedBytes = sql<number>`pg_column_size(${registryScans.vulnerabilities})`;

/** The reports of an organization, as one of its stores. */
export async function readReportStore(
  db: Queryable,
  orgId: string,
): Promise<{ image_scan_report_bytes: QuotaFigures }> {
  const [row] = await db
    .select({ used: sql<number>`coalesce(sum(${storedBytes}), 0)::float8` })
    .from(registryScans)
    .where(eq(registryScans.orgId, orgId));
  return { image_scan_report_bytes: { limit: MAX_STORED_REPORT_BYTES, used: row?.used ?? 0 } };
}

/**
 * Drops the vulnerabilities of those images of an organization that were not pushed, pulled or requested for longest, until its
 * reports have at most `maxBytes`; an empty list stays, for it frees nothing. What they counted stays; without the version of a database they are not scanned again by themselves.
 */
export async function dropOldReports(
  tx: Queryable,
  orgId: string,
  maxBytes = MAX_STORED_REPORT_BYTES,
): Promise<void> {
  const { digest, usedAt, vulnerabilities } = registryScans;
  const isOfOrganization = eq(registryScans.orgId, orgId);
  const total = sql<number>`sum(${storedBytes}) over (order by ${usedAt} desc, ${digest})`;
  const reports = tx
    .select({ digest, total: total.as("total") })
    .from(registryScans)
    .where(and(isOfOrganization, sql`${vulnerabilities} <> '[]'::jsonb`))
    .as("report");
  const beyond = tx
    .select({ digest: reports.digest })
    .from(reports)
    .where(sql`${reports.total} > ${maxBytes}`);
  // What another transaction replaces right now is counted when that drops reports.
  const free = tx
    .select({ digest })
    .from(registryScans)
    .where(and(isOfOrganization, inArray(digest, beyond)))
    .for("update", { skipLocked: true });
  await tx
    .update(registryScans)
    .set({ vulnerabilities: null, databaseVersion: null })
    .where(and(isOfOrganization, inArray(digest, free)));
}

/** The image that a scan is of; its repository without the organization's prefix. */
export interface ScannedImage {
  orgId: string;
  digest: string;
  repository: string;
}

/**
 * Keeps the report of a registry that scans its images itself, in place of the one of `replacedAt` (null for none);
 * false when another one is there, and nothing is kept.
 */
export async function replaceReport(
  tx: Queryable,
  { orgId, digest, repository }: ScannedImage,
  { at, ...report }: ImageScan & { at: Date },
  replacedAt: Date | null,
): Promise<boolean> {
  const kept = { ...report, repository, dueAt: null, claimId: null, usedAt: at };
  const rows = await tx
    .insert(registryScans)
    .values({ orgId, digest, priority: PRIORITIES.sweep, ...kept })
    .onConflictDoUpdate({
      target: [registryScans.orgId, registryScans.digest],
      set: kept,
      setWhere:
        replacedAt === null ? isNull(registryScans.scannedAt) : eq(registryScans.scannedAt, replacedAt),
    })
    .returning({ digest: registryScans.digest });
  return rows.length > 0;
}

/** When the kept reports of these digests of an organization were made. */
export async function findReportTimes(
  db: Queryable,
  orgId: string,
  digests: readonly string[],
): Promise<Map<string, Date | null>> {
  const times = new Map<string, Date | null>();
  for (const part of chunk(digests)) {
    const rows = await db
      .select({ digest: registryScans.digest, scannedAt: registryScans.scannedAt })
      .from(registryScans)
      .where(and(eq(registryScans.orgId, orgId), inArray(registryScans.digest, part)));
    for (const { digest, scannedAt } of rows) times.set(digest, scannedAt);
  }
  return times;
}
