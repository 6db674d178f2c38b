import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { waitForRegistry } from "../../e2e/platform/stack/testing.ts";
import { idempotencyKeys } from "../http/idempotency/table.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { MAX_REPORT_BYTES, type Vulnerability } from "./report.ts";
import { dropOldReports } from "./scans/report-store.ts";
import { PRIORITIES } from "./scans/store.ts";
import { registryScans } from "./scans/table.ts";
import { pushTestImage, testRegistry } from "./testing.ts";

let api: TestApp;
beforeAll(async () => {
  await waitForRegistry();
  api = await startTestApp({ registry: {} });
});
afterAll(() => api.close());

const SUMMARY = { Critical: 4000, High: 0, Medium: 0, Low: 0, Unknown: 0 };
const LARGE = 1_000_000;

/** An image with a report of almost 8 MiB. */
async function makeScannedImage() {
  const orgId = await api.createOrganization();
  const place = { orgId, repository: "web", tag: "1" };
  const { digest } = await pushTestImage(testRegistry(api), place, { zlib: "1" });
  const describeOne = (n: number): Vulnerability => ({
    ID: `CVE-${n}`,
    Package: "zlib",
    Version: "1",
    FixVersion: "",
    Severity: "Critical",
    Description: "x".repeat(MAX_REPORT_BYTES / SUMMARY.Critical - 200),
    Links: [],
  });
  const vulnerabilities = Array.from({ length: SUMMARY.Critical }, (_, n) => describeOne(n));
  const at = api.deps.now();
  await api.deps.db.insert(registryScans).values({
    orgId,
    digest,
    repository: "web",
    state: "success",
    priority: PRIORITIES.pushed,
    usedAt: at,
    scannedAt: at,
    databaseVersion: "1",
    summary: SUMMARY,
    vulnerabilities,
  });
  return { orgId, path: `/api/v1/organizations/${orgId}/registry/repositories/web/tags/1/scan` };
}

/** The large texts that this process reads as JSON from now on. */
function watchLargeJson(): () => number {
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  return () => parse.mock.calls.filter(([text]) => text.length > LARGE).length;
}

test("a request for a scan reads and returns no vulnerabilities of the last one, and its key keeps none", async () => {
  const { path } = await makeScannedImage();
  const key = crypto.randomUUID();
  const send = () => api.request("POST", path, { headers: { "idempotency-key": key } });
  const countLarge = watchLargeJson();
  const first = await send();
  expect(first.status).toBe(202);
  expect(first.body).toEqual({ Status: "Pending", ScannedAt: expect.any(String), Summary: SUMMARY });
  expect(first.headers.get("location")).toBe(path);
  expect((await send()).body).toEqual(first.body);
  expect(countLarge()).toBe(0);
  const [kept] = await api.deps.db.select().from(idempotencyKeys).where(eq(idempotencyKeys.key, key));
  expect(kept?.body?.length).toBeLessThan(1000);
});

test("requests for a scan that is pending join it, and the audit log has one entry for them", async () => {
  const { orgId, path } = await makeScannedImage();
  const requests = Array.from({ length: 5 }, () => api.request("POST", path));
  for (const { status, body } of await Promise.all(requests))
    expect([status, body.Status]).toEqual([202, "Pending"]);
  expect((await api.request("POST", path)).status).toBe(202);
  const log = `/api/v1/organizations/${orgId}/audit-log?action=registry_scan.request`;
  expect((await api.request("GET", log)).body.items).toHaveLength(1);
});

test("a report that is unchanged since If-None-Match is not read", async () => {
  const { path } = await makeScannedImage();
  const countLarge = watchLargeJson();
  const { headers, body } = await api.request("GET", path);
  expect(body.Vulnerabilities).toHaveLength(SUMMARY.Critical);
  const before = countLarge();
  expect(before).toBeGreaterThan(0);
  const known = { headers: { "if-none-match": headers.get("etag") ?? "" } };
  expect((await api.request("GET", path, known)).status).toBe(304);
  expect(countLarge()).toBe(before);
});

test("an image whose vulnerabilities were dropped is NotScanned with its last summary and another ETag, and Pending without one when it is scanned again", async () => {
  const { orgId, path } = await makeScannedImage();
  const before = await api.request("GET", path);
  await dropOldReports(api.deps.db, orgId, 0);
  const known = { headers: { "if-none-match": before.headers.get("etag") ?? "" } };
  const { status, body } = await api.request("GET", path, known);
  const { ScannedAt } = before.body;
  expect([status, body]).toEqual([
    200,
    { Status: "NotScanned", ScannedAt, Summary: SUMMARY, Vulnerabilities: [] },
  ]);
  expect(await api.request("POST", path)).toMatchObject({ status: 202, body: { Status: "Pending" } });
  const nothing = { Summary: { ...SUMMARY, Critical: 0 }, Vulnerabilities: [] };
  expect((await api.request("GET", path)).body).toEqual({ Status: "Pending", ...nothing });
});
