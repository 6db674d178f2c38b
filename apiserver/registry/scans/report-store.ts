import { and, eq, inArray, isNull } from "drizzle-orm";
import { chunk } from "../../db/chunk.ts";
import type { Queryable } from "../../db/client.ts";
import type { ImageScan } from "../image-scan.ts";
import { PRIORITIES } from "./store.ts";
import { registryScans } from "./table.ts";

/** The image that a scan is of; its repository without the organization's prefix. */
export interface ScannedImage {
  orgId: string;
  digest: string;
  repository: string;
}

/**
 * Keeps the report of a registry that scans its images itself, in place of the one of `replacedAt` (null for none); false
 * when another one is there, and nothing is kept.
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
