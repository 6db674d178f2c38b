import { createHash } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { mergeReport, type Vulnerability } from "../report.ts";
import { listCriticalAudits } from "../testing.ts";
import { type ClaimedScan, claimScan, completeScan, scanClaims } from "./claim-store.ts";
import { recordReport } from "./record-report.ts";
import { PRIORITIES, requestMissingScans, requestScan } from "./store.ts";
import { registryScans } from "./table.ts";

const LEASE_SECONDS = 60;
const api = setUp(startTestApp);
/** Each claim is a second later than the one before. */
let atMs = Date.parse("2026-05-01T12:00:00Z");

beforeEach(async () => {
  await api.deps.db.execute(sql`delete from registry_scans`);
});

const digestOf = (name: string) => `sha256:${createHash("sha256").update(name).digest("hex")}`;

async function request(orgId: string, priority: keyof typeof PRIORITIES, names: readonly string[]) {
  for (const name of names)
    await requestScan(api.deps.db, {
      orgId,
      digest: digestOf(name),
      repository: name,
      priority: PRIORITIES[priority],
      at: new Date(atMs),
    });
}

const aCritical = (n: number): Vulnerability => ({
  ID: `CVE-${n}`,
  Package: "zlib",
  Version: "1",
  FixVersion: "",
  Severity: "Critical",
  Description: "",
  Links: [],
});

async function claim(isIdle = true): Promise<ClaimedScan | undefined> {
  atMs += 1000;
  return claimScan(api.deps.db, { at: new Date(atMs), leaseSeconds: LEASE_SECONDS, isIdle });
}

async function claimNames(count: number): Promise<(string | undefined)[]> {
  const names = [];
  for (let n = 0; n < count; n++) names.push((await claim())?.repository);
  return names;
}

describe("a claim", () => {
  test("takes turns between organizations, whatever one of them requests by hand", async () => {
    const [busy, other] = [await api.createOrganization(), await api.createOrganization()];
    await request(busy, "requested", ["busy/1", "busy/2", "busy/3", "busy/4"]);
    await request(other, "pushed", ["other/1", "other/2"]);
    const [first, second, third, fourth, ...rest] = await claimNames(6);
    expect(new Set([first, second])).toEqual(new Set(["busy/1", "other/1"]));
    expect(new Set([third, fourth])).toEqual(new Set(["busy/2", "other/2"]));
    expect(rest).toEqual(["busy/3", "busy/4"]);
  });

  test("takes what was requested by hand first, then what was pushed, of one organization", async () => {
    const orgId = await api.createOrganization();
    await request(orgId, "sweep", ["found"]);
    await request(orgId, "pushed", ["pushed"]);
    await request(orgId, "requested", ["requested"]);
    expect(await claimNames(4)).toEqual(["requested", "pushed", "found", undefined]);
  });

  test("takes what a new database caused last, of every organization in turn", async () => {
    const [first, second] = [await api.createOrganization(), await api.createOrganization()];
    await request(first, "newDatabase", ["first/1", "first/2"]);
    await request(second, "newDatabase", ["second/1", "second/2"]);
    await request(second, "pushed", ["second/3", "second/4"]);
    expect(await claimNames(6)).toEqual([
      "second/3",
      "second/4",
      "first/1",
      "second/1",
      "first/2",
      "second/2",
    ]);
  });

  test("keeps the turn of an organization whose images are deleted", async () => {
    const [busy, other] = [await api.createOrganization(), await api.createOrganization()];
    await request(busy, "pushed", ["busy/1"]);
    await request(other, "pushed", ["other/1", "other/2"]);
    await claimNames(2);
    await request(busy, "pushed", ["busy/2"]);
    expect(await claimNames(1)).toEqual(["busy/2"]);
    await api.deps.db.delete(registryScans).where(eq(registryScans.orgId, busy));
    await request(busy, "pushed", ["busy/3"]);
    expect(await claimNames(2)).toEqual(["other/2", "busy/3"]);
  });

  test("of a process that was killed ends: the scan is claimed again, and what that process still says is not stored", async () => {
    const orgId = await api.createOrganization();
    await request(orgId, "pushed", ["web"]);
    const killed = await claim();
    expect(await claim()).toBeUndefined();
    atMs += LEASE_SECONDS * 1000;
    const again = await claim();
    expect(again).toMatchObject({ orgId, digest: killed?.digest, repository: "web" });
    const result = { report: mergeReport([]), databaseVersion: "1", at: new Date(atMs) };
    const complete = (scan = killed) => scan && completeScan(api.deps.db, scan, result);
    expect(await complete()).toBe(false);
    expect(await complete(again)).toBe(true);
  });

  test("counts as an attempt when it begins, also one that ends with its process, until the scan is requested anew; the last one waits for an idle process, and what comes after it too", async () => {
    const orgId = await api.createOrganization();
    await request(orgId, "pushed", ["other"]);
    const attempts: (number | undefined)[] = [];
    for (let n = 0; n < 3; n++) {
      if (n === 1) attempts.push((await claim(false))?.attempts);
      else await request(orgId, "requested", ["web"]);
      attempts.push((await claim())?.attempts);
      atMs += LEASE_SECONDS * 1000;
    }
    const result = { report: mergeReport([]), databaseVersion: "1", at: new Date(atMs) };
    const last = await claim();
    if (last !== undefined) await completeScan(api.deps.db, last, result);
    await request(orgId, "requested", ["web"]);
    expect([...attempts, last?.attempts, (await claim())?.attempts]).toEqual([1, undefined, 2, 3, 4, 1]);
  });

  test("after an attempt whose failure was reported needs no idle process", async () => {
    const orgId = await api.createOrganization();
    await request(orgId, "requested", ["web"]);
    const scan = await claim();
    const set = { state: "pending", attempts: 1, fault: "timeout" } as const;
    if (scan !== undefined) await scanClaims.postpone(api.deps.db, scan, 0, { at: new Date(atMs), set });
    expect(await claim(false)).toMatchObject({ attempts: 2, mustRunAlone: false });
    atMs += LEASE_SECONDS * 1000;
  });

  test("of one process is of one scan: claims at the same time are of different ones", async () => {
    const orgId = await api.createOrganization();
    const names = Array.from({ length: 8 }, (_, n) => `web/${n}`);
    await requestMissingScans(
      api.deps.db,
      orgId,
      names.map((repository) => ({
        digest: digestOf(repository),
        repository,
        priority: PRIORITIES.pushed,
        at: new Date(atMs),
      })),
    );
    const claims = await Promise.all(names.map(() => claim()));
    const claimed = claims.flatMap((scan) => scan?.repository ?? []);
    expect(claimed.length).toBe(new Set(claimed).size);
    expect(claimed.length).toBeGreaterThan(0);
  });
});

test("a scan leaves one row in the audit log when it finds more that is critical than the one before, and no other", async () => {
  const orgId = await api.createOrganization();
  const scanAgain = async (critical: number) => {
    await request(orgId, "requested", ["web"]);
    const scan = await claim();
    if (scan === undefined) throw new Error("nothing is due");
    const report = mergeReport(Array.from({ length: critical }, (_, n) => aCritical(n)));
    const completion = { report, databaseVersion: "1", at: new Date(atMs) };
    // The second time its claim has ended.
    for (let n = 0; n < 2; n++) await recordReport(api.deps.db, scan, completion);
    return (await listCriticalAudits(api, orgId)).map(({ after }) => after);
  };
  const found = { repository: "web", critical: 2 };
  expect(await scanAgain(0)).toEqual([]);
  for (const critical of [2, 2, 1])
    expect([critical, await scanAgain(critical)]).toEqual([critical, [found]]);
  expect(await scanAgain(3)).toEqual([found, { ...found, critical: 3 }]);
});
