import { createHash } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import type { RegistryConfig } from "./config.ts";
import { repositoryPrefix } from "./names.ts";
import type { ImageScan, ScanState, ScanSummary, ScanVersion } from "./report.ts";
import type { repositoryRecord, requestedScanRecord, scanRecord } from "./schema.ts";

/** The wire form of a repository. */
export function presentRepository(
  registry: Pick<RegistryConfig, "host"> | undefined,
  orgId: string,
  name: string,
): z.output<typeof repositoryRecord> {
  return { name, image: `${registry?.host ?? ""}/${repositoryPrefix(orgId)}${name}` };
}

/** The entity tag of a repository with these tags. */
export function repositoryTag(tags: readonly string[]): string {
  return `"${createHash("sha256").update(JSON.stringify(tags)).digest("hex").slice(0, 32)}"`;
}

const STATUS = {
  pending: "Pending",
  running: "Running",
  success: "Success",
  error: "Error",
  unsupported: "Unsupported",
} as const satisfies Record<ScanState, string>;

/** The wire form of a scan without its vulnerabilities; undefined for a digest that was never to be scanned. */
export function presentRequestedScan(scan: ScanSummary | undefined): z.output<typeof requestedScanRecord> {
  const { scannedAt, summary } = scan ?? {};
  return {
    Status: scan === undefined ? "NotScanned" : STATUS[scan.state],
    ...(scannedAt instanceof Date && { ScannedAt: scannedAt.toISOString() }),
    Summary: summary ?? { Critical: 0, High: 0, Medium: 0, Low: 0, Unknown: 0 },
  };
}

/** The wire form of a scan. A report whose vulnerabilities were dropped is none, for their list would look empty; a success still counts them. */
export function presentScan(scan: ImageScan | undefined): z.output<typeof scanRecord> {
  const isDropped = scan?.vulnerabilities === null;
  const isNone = isDropped && scan.state !== "success";
  return {
    ...presentRequestedScan(isNone ? { ...scan, scannedAt: null, summary: null } : scan),
    ...(isDropped && !isNone && { Status: "NotScanned" }),
    Vulnerabilities: scan?.vulnerabilities ?? [],
  };
}

/** The entity tag of the scan of one digest. */
export function scanTag(digest: string, scan: ScanVersion | undefined): string {
  const parts = [digest, scan?.databaseVersion, scan?.state, scan?.scannedAt?.toISOString()];
  return `"${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}"`;
}
