import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { OwnScans } from "./backend.ts";
import { createHarbor, createHarborScans } from "./harbor.ts";
import { testRegistryContract } from "./testing-contract.ts";
import { type HarborVulnerability, ROBOT, startTestHarbor, type TestHarbor } from "./testing-harbor.ts";

const NO_LIMITS = { sizeGiB: undefined, tags: undefined };

let harbor: TestHarbor;
beforeAll(async () => {
  harbor = await startTestHarbor();
});
afterAll(() => harbor.close());

const createBackend = (limits: { sizeGiB: number | undefined; tags: number | undefined } = NO_LIMITS) =>
  createHarbor({ url: harbor.url, ...ROBOT, limits });

testRegistryContract(async () => {
  const backend = createBackend();
  const { ownScans } = backend;
  if (ownScans === undefined) throw new Error("Harbor scans its images");
  return {
    url: harbor.url,
    backend,
    createOrganization: async () => randomUUID(),
    scansOf: () => ownScans,
  };
});

describe("the project of an organization", () => {
  const issue = (project: string, action: string, sizeGiB?: number) => {
    const access = [{ type: "repository" as const, name: `${project}/web`, actions: [action] }];
    const claims = { subject: "test", access, now: new Date() };
    return createBackend({ sizeGiB, tags: undefined }).issueToken(claims);
  };

  test("is made at the first push, private, with the limit of the configuration", async () => {
    const project = `org-${randomUUID()}`;
    await issue(project, "pull");
    expect(harbor.projects.has(project)).toBe(false);
    await issue(project, "push", 5);
    expect(harbor.projects.get(project)).toEqual({
      project_name: project,
      metadata: { public: "false", auto_scan: "true" },
      storage_limit: 5 * 1024 ** 3,
    });
  });

  test("has no limit without one, and is made once", async () => {
    const project = `org-${randomUUID()}`;
    await Promise.all([issue(project, "push"), issue(project, "push")]);
    expect(harbor.projects.get(project)?.storage_limit).toBe(-1);
  });
});

test("a robot account that Harbor refuses is an error of the registry", async () => {
  const backend = createHarbor({ url: harbor.url, ...ROBOT, password: "wrong", limits: NO_LIMITS });
  await expect(
    backend.listTags(`org-${randomUUID()}/web`, { after: undefined, limit: 1 }),
  ).rejects.toMatchObject({
    name: "BackendError",
    fault: "refused",
  });
});

describe("a scan of Harbor", () => {
  let responses: Map<string, { status: number; body: unknown }>;
  let scans: OwnScans;
  beforeEach(() => {
    responses = new Map();
    scans = createHarborScans(async (method, _artifact, path) => {
      const { status, body } = responses.get(`${method} ${path.split("?")[0]}`) ?? { status: 404, body: {} };
      return { status, headers: {}, text: JSON.stringify(body) };
    });
  });
  const answer = (status: string, vulnerabilities: readonly HarborVulnerability[] | null = []) => {
    const overview = { scan_status: status, end_time: "2026-05-01T12:00:00.000Z" };
    responses.set("GET ", { status: 200, body: { scan_overview: { any: overview } } });
    responses.set("GET /additions/vulnerabilities", { status: 200, body: { any: { vulnerabilities } } });
  };
  const find = () => scans.find("org-1/web", "sha256:1");

  test.each([
    ["Pending", "pending"],
    ["Scheduled", "pending"],
    ["Running", "running"],
    ["Success", "success"],
    ["Error", "error"],
    ["Stopped", "error"],
    ["Sleeping", "error"],
  ])("in the state %s is %s", async (status, state) => {
    answer(status);
    expect((await find())?.state).toBe(state);
  });

  test("that was never requested is none, and neither is one of an image that is gone", async () => {
    expect(await find()).toBeUndefined();
    responses.set("GET ", { status: 200, body: { scan_overview: null } });
    expect(await find()).toBeUndefined();
  });

  test("counts what it found by severity, Negligible as Low, and lists the worst first", async () => {
    const severities = ["Low", "Negligible", "None", "Unknown", "Critical", "Odd"];
    const found = severities.map((severity, n) => ({
      id: `CVE-${n}`,
      package: "zlib",
      version: "1",
      severity,
    }));
    answer("Success", [
      ...found,
      {
        id: "CVE-9",
        package: "a",
        version: "2",
        severity: "High",
        fix_version: "3",
        description: "Bad.",
        links: ["https://x"],
      },
    ]);
    const scan = await find();
    expect(scan?.scannedAt).toEqual(new Date("2026-05-01T12:00:00.000Z"));
    expect(scan?.summary).toEqual({ Critical: 1, High: 1, Medium: 0, Low: 2, Unknown: 2 });
    expect(scan?.vulnerabilities?.map(({ ID }) => ID)).toEqual([
      "CVE-4",
      "CVE-9",
      "CVE-0",
      "CVE-1",
      "CVE-3",
      "CVE-5",
    ]);
    expect(scan?.vulnerabilities?.[1]).toEqual({
      ID: "CVE-9",
      Package: "a",
      Version: "2",
      FixVersion: "3",
      Severity: "High",
      Description: "Bad.",
      Links: ["https://x"],
    });
  });

  test("that found nothing is a success with an empty list, whatever Harbor calls nothing", async () => {
    answer("Success", null);
    expect(await find()).toMatchObject({ state: "success", vulnerabilities: [] });
    responses.set("GET /additions/vulnerabilities", { status: 200, body: {} });
    expect(await find()).toMatchObject({ state: "success", vulnerabilities: [] });
  });

  test.each([400, 422])("of what the scanner does not support (%i) is unsupported", async (status) => {
    responses.set("POST /scan", { status, body: {} });
    expect(await scans.request("org-1/web", "sha256:1")).toBe("unsupported");
  });

  test("that runs goes on when another one is requested", async () => {
    answer("Running");
    responses.set("POST /scan", { status: 409, body: {} });
    expect(await scans.request("org-1/web", "sha256:1")).toBe("running");
  });

  test("with a response that is none is an error of the registry", async () => {
    responses.set("GET ", { status: 200, body: [1] });
    await expect(find()).rejects.toMatchObject({ name: "BackendError", fault: "failed" });
  });
});
