import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { claimScan } from "./claim-store.ts";
import { recordReport } from "./record-report.ts";
import { dropOldReports, readReportStore } from "./report-store.ts";
import { PRIORITIES, requestOutdatedScans, requestScan } from "./store.ts";
import { registryScans } from "./table.ts";

const api = setUp(startTestApp);
const REPORT_BYTES = 10_000;
const SUMMARY = { Critical: 1, High: 0, Medium: 0, Low: 0, Unknown: 0 };

const digestOf = (n: number) => `sha256:${String(n).padStart(64, "0")}`;
const usedAtOf = (n: number) => new Date(Date.parse("2026-05-01T00:00:00Z") + n * 60_000);

/** The report of an image that was used at that minute, in so many bytes that do not compress. */
const insertReport = (orgId: string, n: number, bytes = REPORT_BYTES) =>
  api.deps.db.insert(registryScans).values({
    orgId,
    digest: digestOf(n),
    repository: "web",
    state: "success",
    priority: PRIORITIES.pushed,
    usedAt: usedAtOf(n),
    scannedAt: usedAtOf(n),
    databaseVersion: "1",
    summary: SUMMARY,
    vulnerabilities: bytes === 0 ? [] : [aVulnerability(bytes)],
  });

const aVulnerability = (bytes: number) => ({
  ID: "CVE-1",
  Package: "zlib",
  Version: "1",
  FixVersion: "",
  Severity: "Critical" as const,
  Links: [],
  Description: randomBytes(bytes / 2).toString("hex"),
});

async function listKept(orgId: string): Promise<boolean[]> {
  const rows = await api.deps.db
    .select()
    .from(registryScans)
    .where(eq(registryScans.orgId, orgId))
    .orderBy(registryScans.digest);
  expect(rows.map(({ summary }) => summary)).toEqual(rows.map(() => SUMMARY));
  return rows.map(({ vulnerabilities }) => vulnerabilities !== null);
}

test("beyond the bytes that an organization may keep, the reports that were not in use for longest are dropped, and no other's", async () => {
  const [orgId, other] = [await api.createOrganization(), await api.createOrganization()];
  for (let n = 0; n < 5; n++) {
    await insertReport(orgId, n);
    await insertReport(other, n);
  }
  const { db } = api.deps;
  await requestScan(db, {
    orgId,
    digest: digestOf(0),
    repository: "web",
    priority: PRIORITIES.requested,
    at: usedAtOf(9),
  });
  await dropOldReports(db, orgId, 3.5 * REPORT_BYTES);
  expect(await listKept(orgId)).toEqual([true, false, false, true, true]);
  expect(await listKept(other)).toEqual(Array(5).fill(true));
  const { used } = (await readReportStore(db, orgId)).image_scan_report_bytes;
  expect(used).toBeGreaterThan(2 * REPORT_BYTES);
  expect(used).toBeLessThanOrEqual(3.5 * REPORT_BYTES);
});

test("an empty report stays, which frees nothing", async () => {
  const orgId = await api.createOrganization();
  await insertReport(orgId, 0, 0);
  for (let n = 1; n < 3; n++) await insertReport(orgId, n);
  await dropOldReports(api.deps.db, orgId, 1.5 * REPORT_BYTES);
  expect(await listKept(orgId)).toEqual([true, false, true]);
});

test("a report that is stored drops those that its organization may no longer keep", async () => {
  const orgId = await api.createOrganization();
  for (let n = 0; n < 3; n++) await insertReport(orgId, n);
  const { db } = api.deps;
  await requestScan(db, {
    orgId,
    digest: digestOf(3),
    repository: "web",
    priority: PRIORITIES.requested,
    at: usedAtOf(3),
  });
  const scan = await claimScan(db, { at: usedAtOf(4), leaseSeconds: 60, isIdle: true });
  if (scan === undefined) throw new Error("nothing is due");
  const report = { summary: SUMMARY, vulnerabilities: [] };
  await recordReport(db, scan, { report, databaseVersion: "1", at: usedAtOf(5) }, 1.5 * REPORT_BYTES);
  expect(await listKept(orgId)).toEqual([false, false, true, true]);
});

test("an image whose report was dropped is not scanned again by a new vulnerability database", async () => {
  const orgId = await api.createOrganization();
  for (let n = 0; n < 2; n++) await insertReport(orgId, n);
  const { db } = api.deps;
  await dropOldReports(db, orgId, 1.5 * REPORT_BYTES);
  await requestOutdatedScans(db, { databaseVersion: "2", usedSince: usedAtOf(0), at: usedAtOf(9) });
  const rows = await db.select().from(registryScans).where(eq(registryScans.orgId, orgId));
  expect(new Map(rows.map(({ digest, state }) => [digest, state]))).toEqual(
    new Map([
      [digestOf(0), "success"],
      [digestOf(1), "pending"],
    ]),
  );
});
