import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../shared/program/testing-deadlines.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { pushToHarbor, ROBOT, startTestHarbor, type TestHarbor } from "./backend/testing-harbor.ts";
import { registryJobs } from "./index.ts";
import { listCriticalAudits } from "./testing.ts";

let harbor: TestHarbor;
let api: TestApp;

beforeAll(async () => {
  harbor = await startTestHarbor();
  const limits = { sizeGiB: undefined, tags: undefined };
  const { url } = harbor;
  api = await startTestApp({
    registry: { kind: "harbor", url, host: "harbor.example.com", limits, ...ROBOT },
  });
});
afterAll(async () => {
  await api.close();
  await harbor.close();
});

/** An API token that pushes. */
async function mint(orgId: string): Promise<string> {
  const body = { name: "ci", role: "member", scopes: ["registry:read", "registry:write"] };
  return (await api.request("POST", `/api/v1/organizations/${orgId}/api-tokens`, { body })).body.token;
}

const IMAGE_TYPE = "application/vnd.oci.image.manifest.v1+json";

test("with Harbor a tenant pushes with a token of the service, and reads what Harbor's scanner found", async () => {
  const orgId = await api.createOrganization();
  const repository = `org-${orgId}/team/web`;
  const password = Buffer.from(`ci:${await mint(orgId)}`).toString("base64");
  const issued = await api.request("GET", `/registry/token?scope=repository:${repository}:pull,push`, {
    as: null,
    headers: { authorization: `Basic ${password}` },
  });
  expect([issued.status, issued.body.expires_in]).toEqual([200, 300]);
  const pushed = await fetch(`${harbor.url}/v2/${repository}/manifests/1`, {
    method: "PUT",
    headers: { authorization: `Bearer ${issued.body.token}`, "content-type": IMAGE_TYPE },
    body: JSON.stringify({ schemaVersion: 2, mediaType: IMAGE_TYPE, layers: [] }),
  });
  expect(pushed.status).toBe(201);

  const repositories = `/api/v1/organizations/${orgId}/registry/repositories`;
  const image = `harbor.example.com/${repository}`;
  expect((await api.request("GET", repositories)).body.items).toEqual([{ name: "team/web", image }]);
  const scan = `${repositories}/team%2Fweb/tags/1/scan`;
  expect((await api.request("GET", scan)).body.Status).toBe("NotScanned");
  expect(await api.request("POST", scan)).toMatchObject({ status: 202, body: { Status: "Pending" } });
  const [digest = ""] = harbor.scans.keys();
  const found = { id: "CVE-2024-1", package: "zlib", version: "1", severity: "Negligible" };
  harbor.scans.set(digest, { status: "Success", vulnerabilities: [found] });
  const { body, headers } = await api.request("GET", scan);
  expect(body).toMatchObject({
    Status: "Success",
    ScannedAt: "2026-05-01T12:00:00.000Z",
    Summary: { Critical: 0, High: 0, Medium: 0, Low: 1, Unknown: 0 },
    Vulnerabilities: [{ ID: "CVE-2024-1", Package: "zlib", Severity: "Low" }],
  });
  const known = { headers: { "if-none-match": headers.get("etag") ?? "" } };
  expect((await api.request("GET", scan, known)).status).toBe(304);
  expect((await api.request("GET", "/registry/jwks.json", { as: null })).status).toBe(404);
});

/** Pushes an image of an organization; returns its digest and the path of its scan. */
async function pushImage(orgId: string): Promise<{ digest: string; scan: string }> {
  const scan = `/api/v1/organizations/${orgId}/registry/repositories/web/tags/1/scan`;
  return { digest: await pushToHarbor(harbor, orgId), scan };
}

const criticals = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `CVE-${n}`, package: "zlib", severity: "Critical" }));

/** The results of one action in an organization's audit log. */
async function readResults(orgId: string, action = "registry_scan.request"): Promise<string> {
  const { body } = await api.request("GET", `/api/v1/organizations/${orgId}/audit-log?action=${action}`);
  return body.items.map(({ result }: { result: string }) => result).join();
}

test.each([
  ["repository.delete", "DELETE", ""],
  ["repository_tag.delete", "DELETE", "/tags/1"],
  ["registry_scan.request", "POST", "/tags/1/scan"],
])("%s is accepted in the audit log, and done or failed only once it is", async (action, method, place) => {
  const orgId = await api.createOrganization();
  const path = (await pushImage(orgId)).scan.replace("/tags/1/scan", place);
  const seen: string[] = [];
  const see = async () => void seen.push(await readResults(orgId, action));
  for (const refusal of [[500], undefined] as const) {
    vi.spyOn(harbor, "intercept").mockImplementationOnce(async (respond) => {
      await see();
      return refusal === undefined ? respond() : [...refusal];
    });
    const { status } = await api.request(method, path);
    expect(status < 300).toBe(refusal === undefined);
    await see();
  }
  const failed = "accepted,failed";
  expect(seen).toEqual(["accepted", failed, `${failed},accepted`, `${failed},accepted,done`]);
});

test("a scan whose process ended before it was recorded is recorded when its request is repeated by its key, and not by another caller's", async () => {
  const orgId = await api.createOrganization();
  const { digest, scan } = await pushImage(orgId);
  const headers = { "Idempotency-Key": digest };
  const another = { token: await mint(orgId), headers: { "Idempotency-Key": `another-${digest}` } };
  harbor.scans.set(digest, { status: "Success", vulnerabilities: [] });
  vi.spyOn(harbor, "intercept").mockImplementationOnce(async () => [500]);
  expect((await api.request("POST", scan, another)).status).toBe(503);
  expect((await api.request("GET", scan)).body.Status).toBe("Success");
  const ending = await startTestApp({ replicaOf: api, registry: api.deps.config.registry ?? {} });
  vi.spyOn(harbor, "intercept").mockImplementationOnce(async (respond) => {
    const answer = await respond();
    await ending.close();
    return answer;
  });
  expect((await ending.request("POST", scan, { headers })).status).toBeGreaterThanOrEqual(500);
  expect((await api.request("POST", scan, another)).body).toMatchObject({ Status: "Pending" });
  expect(await readResults(orgId)).toBe("accepted");
  await api.deps.sql`update idempotency_keys set lease_expires_at = now() where key = ${digest}`;
  expect((await api.request("POST", scan, { headers })).body).toMatchObject({ Status: "Pending" });
  expect(await readResults(orgId)).toBe("accepted,done");
});

test("a request for a scan that Harbor makes already joins it, and the audit log has no entry for it", async () => {
  const orgId = await api.createOrganization();
  const { digest, scan } = await pushImage(orgId);
  expect((await api.request("POST", scan)).status).toBe(202);
  for (const status of ["Pending", "Running"]) {
    harbor.scans.set(digest, { status });
    expect(await api.request("POST", scan)).toMatchObject({ status: 202, body: { Status: status } });
    expect(harbor.scans.get(digest)).toEqual({ status });
  }
  expect(await readResults(orgId)).toBe("accepted,done");
});

test("while Harbor scans again, a tenant reads the last report, also of a scan that it only asked for again", async () => {
  const orgId = await api.createOrganization();
  const { digest, scan } = await pushImage(orgId);
  harbor.scans.set(digest, { status: "Success", vulnerabilities: criticals(1) });
  const requested = await api.request("POST", scan);
  const counted = {
    ScannedAt: "2026-05-01T12:00:00.000Z",
    Summary: { Critical: 1, High: 0, Medium: 0, Low: 0, Unknown: 0 },
  };
  const last = { ...counted, Vulnerabilities: [{ ID: "CVE-0" }] };
  expect([requested.status, requested.body]).toEqual([202, { ...counted, Status: "Pending" }]);
  for (const [status, Status] of Object.entries({ Running: "Running", Stopped: "Error" })) {
    harbor.scans.set(digest, { status });
    expect((await api.request("GET", scan)).body).toMatchObject({ ...last, Status });
  }
});

test("a report of Harbor with more that is critical than the last one leaves one row in the audit log, whoever reads it first", async () => {
  const orgId = await api.createOrganization();
  const { digest, scan } = await pushImage(orgId);
  const sweep = registryJobs(api.deps).find(({ name }) => name === "unscanned-images");
  const readTwice = () => Promise.all([api.request("GET", scan), api.request("GET", scan)]);
  const setReport = (count: number, day: string) =>
    harbor.scans.set(digest, {
      status: "Success",
      endTime: `2026-05-${day}T12:00:00.123456Z`,
      vulnerabilities: criticals(count),
    });
  setReport(2, "01");
  await sweep?.run(new AbortController().signal);
  await readTwice();
  const found = await listCriticalAudits(api, orgId);
  expect(found).toEqual([
    expect.objectContaining({
      actor: { kind: "system", name: "scanner", id: null, email: null },
      target: { kind: "image", id: digest },
      before: null,
      after: { repository: "web", critical: 2 },
      result: "done",
    }),
  ]);
  for (const [count, day] of [
    [2, "02"],
    [1, "03"],
  ] as const) {
    setReport(count, day);
    await readTwice();
    expect((await api.request("GET", scan)).body.Summary.Critical).toBe(count);
    expect(await listCriticalAudits(api, orgId)).toEqual(found);
  }
  setReport(3, "04");
  await readTwice();
  await sweep?.run(new AbortController().signal);
  expect(await listCriticalAudits(api, orgId)).toHaveLength(2);
});

test("of one organization one report at a time is read, while it computes something else", async () => {
  const orgId = await api.createOrganization();
  const { digest, scan } = await pushImage(orgId);
  harbor.scans.set(digest, { status: "Success", vulnerabilities: criticals(1) });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let reading = 0;
  const reports = vi.spyOn(harbor, "intercept").mockImplementation(async (respond) => {
    reading += 1;
    await released;
    return respond();
  });
  onTestFinished(() => {
    release();
    reports.mockRestore();
  });
  const responses = [api.request("GET", scan), api.request("GET", scan)];
  await vi.waitFor(() => expect(reading).toBe(1), PATIENT);
  // What was sent before has come as far as it can. No month is closed, whose charges it could compute.
  const focus = { headers: { accept: "text/csv;profile=focus-1.0" } };
  expect((await api.request("GET", scan.replace(/registry.*/, "billing/usage"), focus)).status).toBe(406);
  expect(reading).toBe(1);
  release();
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200]);
  expect(reading).toBe(2);
});
