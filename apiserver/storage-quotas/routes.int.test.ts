import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { findCondition } from "../../shared/controller/conditions.ts";
import {
  BYTES_PER_GIB,
  STORAGE_INVENTORY_NAME,
  type StorageInventoryStatus,
  storageInventoryKind,
} from "../../shared/crd/storage-inventory.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import { auditLog } from "../audit/table.ts";
import { startTestApp } from "../testing/app.ts";
import { withUnreachableKube } from "../testing/unreachable-kube.ts";
import { publishStorageQuota } from "./changes.ts";
import { storageQuotaJobs } from "./jobs.ts";
import { updateStorageQuota } from "./store.ts";

const api = setUp(startTestApp);
const kubernetes = setUp(openTestApi);
let orgId: string;
let namespace: string;
let path: string;

beforeEach(async () => {
  orgId = await api.createOrganization();
  namespace = `org-${orgId}`;
  path = `/api/v1/admin/organizations/${orgId}/storage-quota`;
});

const BY_HAND = { fieldManager: "kubectl" };
const none = { observed_quota_bytes: null, observed_used_bytes: null };

const readQuota = (headers = {}) => api.request("GET", path, { as: "staff", headers });
const setQuota = (quotaGB: unknown, headers = {}) =>
  api.request("PUT", path, { as: "staff", body: { quota_gb: quotaGB }, headers });
const readInventory = () => api.deps.kube.get(storageInventoryKind, namespace, STORAGE_INVENTORY_NAME);
const runJobs = async () => {
  for (const job of storageQuotaJobs(api.deps)) await job.run(new AbortController().signal);
};

type Figures = { [Name in "quotaBytes" | "usedBytes" | "observedAt"]?: StorageInventoryStatus[Name] | null };

/** Breaks the storage of this organization alone: the operator of the stack then leaves the figures to the tests. */
async function leaveFigures(): Promise<void> {
  await waitForReady("True");
  const folder = join(readStack().sharedStorage, namespace);
  // The operator makes a folder that it misses again.
  await waitFor("a file in place of the folder", async () => {
    await rm(folder, { recursive: true, force: true });
    await writeFile(folder, "no folder");
    return true;
  });
  await waitForReady("False");
  await observe({ quotaBytes: null, usedBytes: null, observedAt: null });
}

function waitForReady(status: string): Promise<void> {
  const readStatus = async () => findCondition((await readInventory())?.status?.conditions, "Ready")?.status;
  return expect.poll(readStatus).toBe(status);
}

/** Writes figures as the storage's operator does. */
async function observe(status: Figures): Promise<void> {
  const patch = { status: { observedAt: new Date().toISOString(), ...status } };
  const options = { fieldManager: "storage", subresource: "status" } as const;
  await api.deps.kube.mergePatch(storageInventoryKind, namespace, STORAGE_INVENTORY_NAME, patch, options);
}

/** Runs it while no API server of Kubernetes responds. */
async function withoutKubernetes(run: () => Promise<void>): Promise<void> {
  const { kube } = api.deps;
  await withUnreachableKube((unreachable) => {
    api.deps.kube = unreachable;
    return run();
  }).finally(() => {
    api.deps.kube = kube;
  });
}

describe("the storage quota", () => {
  test("is the default until staff set one, for the tenant as well; all members are always present", async () => {
    await leaveFigures();
    const expected = { configured_gb: null, effective_gb: 100, default_gb: 100, ...none };
    expect((await readQuota()).body).toEqual(expected);
    const ofTenant = `/api/v1/organizations/${orgId}/storage-quota`;
    expect((await api.request("GET", ofTenant)).body).toEqual(expected);
    const set = await setQuota(200);
    expect(set.body).toEqual({ ...expected, configured_gb: 200, effective_gb: 200 });
    expect((await api.request("GET", ofTenant)).body).toEqual(set.body);
    expect((await setQuota(null)).body).toEqual(expected);
  });

  test("is published at once in bytes; null removes it and leaves no 0", async () => {
    expect((await readInventory())?.spec).toEqual({});
    await setQuota(2);
    expect((await readInventory())?.spec).toEqual({ quotaBytes: 2 * BYTES_PER_GIB });
    await setQuota(null);
    expect((await readInventory())?.spec).toEqual({});
  });

  test("leaves an audit row with before and after", async () => {
    await setQuota(7);
    await setQuota(null);
    const rows = await api.deps.db.select().from(auditLog);
    const own = rows.filter((row) => row.orgId === orgId && row.action === "organization.set_storage_quota");
    const staff = expect.objectContaining({ kind: "staff" });
    expect(own).toEqual([
      expect.objectContaining({ actor: staff, before: { quota_gb: null }, after: { quota_gb: 7 } }),
      expect.objectContaining({ actor: staff, before: { quota_gb: 7 }, after: { quota_gb: null } }),
    ]);
  });

  test.each<[unknown, string]>([
    [0, "out_of_range"],
    [10_241, "out_of_range"],
    [1.5, "invalid_type"],
    ["5", "invalid_type"],
    [undefined, "required"],
  ])("of %o is refused as %s", async (quotaGB, code) => {
    const { status, body } = await setQuota(quotaGB);
    expect({ status, details: body.error.details }).toMatchObject({
      status: 422,
      details: [{ field: "quota_gb", code }],
    });
    expect((await readQuota()).body.configured_gb).toBeNull();
  });

  test("is 404 for an organization that is unknown or deleted", async () => {
    await api.request("DELETE", `/api/v1/organizations/${orgId}`);
    expect([(await readQuota()).status, (await setQuota(1)).status]).toEqual([404, 404]);
  });

  test("is changed only in the version of If-Match, which figures do not change", async () => {
    await leaveFigures();
    const first = await readQuota();
    await observe({ usedBytes: 5 });
    const etag = first.headers.get("etag") ?? "";
    expect((await readQuota({ "if-none-match": etag })).status).toBe(200);
    const set = await setQuota(3, { "if-match": etag });
    expect(set.status).toBe(200);
    expect((await readQuota({ "if-none-match": set.headers.get("etag") ?? "" })).status).toBe(304);
    expect((await setQuota(4, { "if-match": etag })).status).toBe(412);
  });
});

describe("figures of the storage", () => {
  test("are shown while they are at most 15 minutes old", async () => {
    await leaveFigures();
    await observe({ quotaBytes: 11, usedBytes: 10 });
    expect((await readQuota()).body).toMatchObject({ observed_quota_bytes: 11, observed_used_bytes: 10 });
    await observe({ observedAt: new Date(Date.now() - 16 * 60_000).toISOString() });
    expect((await readQuota()).body).toMatchObject(none);
  });

  test("refuse a limit below what is stored, null included, and allow one that is equal or higher", async () => {
    await leaveFigures();
    await setQuota(300);
    await observe({ quotaBytes: 300 * BYTES_PER_GIB, usedBytes: 150 * BYTES_PER_GIB });
    for (const refused of [149, null]) {
      const { status, body } = await setQuota(refused);
      expect([status, body.error.code]).toEqual([409, "quota_below_usage"]);
    }
    expect((await readInventory())?.spec.quotaBytes).toBe(300 * BYTES_PER_GIB);
    expect((await setQuota(150)).status).toBe(200);
    await observe({ usedBytes: 500 * BYTES_PER_GIB });
    expect([(await setQuota(150)).status, (await setQuota(200)).status]).toEqual([200, 200]);
  });

  test("that are older than 15 minutes refuse nothing", async () => {
    await leaveFigures();
    await observe({
      usedBytes: 150 * BYTES_PER_GIB,
      observedAt: new Date(Date.now() - 16 * 60_000).toISOString(),
    });
    expect((await setQuota(1)).status).toBe(200);
  });
});

describe("without Kubernetes", () => {
  test("the quota is read without figures and set, and a job publishes it afterwards", async () => {
    await leaveFigures();
    await observe({ quotaBytes: 11, usedBytes: 10 });
    await withoutKubernetes(async () => {
      expect((await readQuota()).body).toMatchObject(none);
      const set = await setQuota(5);
      expect([set.status, set.body.configured_gb]).toEqual([200, 5]);
    });
    expect((await readInventory())?.spec).toEqual({});
    await runJobs();
    expect((await readInventory())?.spec).toEqual({ quotaBytes: 5 * BYTES_PER_GIB });
  });
});

describe("the StorageInventory", () => {
  test("is made with the Namespace, and again with its limit after it was deleted by hand", async () => {
    expect((await readInventory())?.metadata.labels).toEqual({ "cloud.marina.dev/org-id": orgId });
    await setQuota(5);
    await api.deps.kube.delete(storageInventoryKind, namespace, STORAGE_INVENTORY_NAME);
    await runJobs();
    expect((await readInventory())?.spec).toEqual({ quotaBytes: 5 * BYTES_PER_GIB });
    await api.deps.kube.delete(storageInventoryKind, namespace, STORAGE_INVENTORY_NAME);
    await setQuota(6);
    expect((await readInventory())?.spec).toEqual({ quotaBytes: 6 * BYTES_PER_GIB });
  });

  test("that was edited by hand gets its limit back, and one that is equal is not written", async () => {
    await setQuota(5);
    const edit = (quotaBytes: number) =>
      api.deps.kube.mergePatch(
        storageInventoryKind,
        namespace,
        STORAGE_INVENTORY_NAME,
        { spec: { quotaBytes } },
        BY_HAND,
      );
    await expect(edit(0)).rejects.toThrow("must be at least 1");
    await edit(17);
    await runJobs();
    const aligned = await readInventory();
    expect(aligned?.spec.quotaBytes).toBe(5 * BYTES_PER_GIB);
    await runJobs();
    expect((await readInventory())?.metadata.generation).toBe(aligned?.metadata.generation);
  });

  test("of a deleted organization is removed, whatever else keeps its Namespace, beside those of no organization", async () => {
    const metadata = { name: STORAGE_INVENTORY_NAME, namespace: kubernetes.namespace };
    const by = { fieldManager: "kubectl" };
    await kubernetes.client.create(storageInventoryKind, { metadata, spec: {} }, by);
    await api.request("DELETE", `/api/v1/organizations/${orgId}`);
    await runJobs();
    expect(await readInventory()).toBeUndefined();
  });
});

describe("writes at the same time", () => {
  test("leave one audit row each, and the inventory holds the last limit that was set", async () => {
    const limits = [11, 12, 13, 14, 15, 16];
    const responses = await Promise.all(limits.map((limit) => setQuota(limit)));
    expect(responses.map(({ status }) => status)).toEqual(limits.map(() => 200));
    const { configured_gb: last } = (await readQuota()).body;
    // What a request cannot publish within its 2 s the job does.
    await runJobs();
    expect((await readInventory())?.spec.quotaBytes).toBe(last * BYTES_PER_GIB);
    const rows = await api.deps.db.select().from(auditLog);
    const own = rows.filter((row) => row.orgId === orgId && row.action === "organization.set_storage_quota");
    expect(own).toHaveLength(limits.length);
    const befores = own.map((row) => (row.before as { quota_gb: number | null }).quota_gb);
    const afters = own.map((row) => (row.after as { quota_gb: number | null }).quota_gb);
    expect(new Set([...befores, last])).toEqual(new Set([...afters, null]));
  });

  test("of one version let one through", async () => {
    const etag = (await readQuota()).headers.get("etag") ?? "";
    const responses = await Promise.all([1, 2, 3].map((limit) => setQuota(limit, { "if-match": etag })));
    expect(responses.map(({ status }) => String(status)).sort()).toEqual(["200", "412", "412"]);
  });

  test("a limit that is set while another is published is published as well", async () => {
    const { kube } = api.deps;
    let isSet = false;
    const publishing = {
      ...api.deps,
      kube: {
        ...kube,
        mergePatch: async (...call: Parameters<typeof kube.mergePatch>) => {
          const written = await kube.mergePatch(...call);
          if (!isSet) await updateStorageQuota(api.deps.db, orgId, { configuredGB: 9, version: 1 });
          isSet = true;
          return written;
        },
      } as typeof kube,
    };
    await publishStorageQuota(publishing, orgId);
    expect((await readInventory())?.spec.quotaBytes).toBe(9 * BYTES_PER_GIB);
  });
});
