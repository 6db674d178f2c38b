import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { namespaceKind, resourceQuotaKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { organizationJobs } from "./jobs.ts";
import {
  ACCESS_QUOTA,
  applyAccessQuota,
  ensureNamespace,
  organizationNamespace,
  readAccessLimit,
} from "./namespace.ts";
import { organizations } from "./table.ts";

let api: TestApp;
beforeAll(async () => {
  api = await startTestApp();
});
afterAll(() => api.close());

test("a Namespace that a dying process did not create is created by the job, once", async () => {
  const id = createId();
  await api.deps.db.insert(organizations).values({ id, name: "Late", slug: `late-${id.slice(-8)}` });
  const name = organizationNamespace(id);
  expect(await api.deps.kube.get(namespaceKind, undefined, name)).toBeUndefined();
  const [missing] = organizationJobs(api.deps);
  const { signal } = new AbortController();
  await missing?.run(signal);
  const created = await api.deps.kube.get(namespaceKind, undefined, name);
  expect(created?.metadata.labels?.["cloud.marina.dev/org-id"]).toBe(id);
  const [row] = await api.deps.db.select().from(organizations).where(eq(organizations.id, id));
  expect(row?.namespaceReadyAt).toBeInstanceOf(Date);
  await missing?.run(signal);
  const again = await api.deps.kube.get(namespaceKind, undefined, name);
  expect(again?.metadata.resourceVersion).toBe(created?.metadata.resourceVersion);
});

test("a Namespace whose creation was interrupted gets its limit of accesses and its inventory from the job", async () => {
  const { db, kube, config } = api.deps;
  const id = createId();
  await db.insert(organizations).values({ id, name: "Half", slug: `half-${id.slice(-8)}` });
  const apply: typeof kube.apply = () => Promise.reject(new Error("interrupted"));
  await expect(ensureNamespace({ db, config, kube: { ...kube, apply } }, id)).rejects.toThrow("interrupted");
  const name = organizationNamespace(id);
  expect(await kube.get(namespaceKind, undefined, name)).toBeDefined();
  const [missing] = organizationJobs(api.deps);
  await missing?.run(new AbortController().signal);
  const quota = await kube.get(resourceQuotaKind, name, ACCESS_QUOTA);
  expect(quota && readAccessLimit(quota)).toBe(config.maxClusterAccessesPerOrganization);
  expect(await kube.get(storageInventoryKind, name, STORAGE_INVENTORY_NAME)).toBeDefined();
});

test("an organization's Namespace limits its accesses, and the job restores a limit that was deleted or changed", async () => {
  const { db, kube, config } = api.deps;
  const limit = config.maxClusterAccessesPerOrganization;
  const id = createId();
  await db.insert(organizations).values({ id, name: "Limited", slug: `limited-${id.slice(-8)}` });
  const namespace = await ensureNamespace(api.deps, id);
  const readLimit = async () => {
    const quota = await kube.get(resourceQuotaKind, namespace, ACCESS_QUOTA);
    return quota && readAccessLimit(quota);
  };
  const job = organizationJobs(api.deps).find(({ name }) => name === "all-namespaces");
  // It fails when another test removes a Namespace that it has listed.
  const runJob = () =>
    waitFor("a run of the job", async () => {
      await job?.run(new AbortController().signal);
      return true;
    });
  expect(await readLimit()).toBe(limit);
  await applyAccessQuota(kube, namespace, 3000);
  await runJob();
  expect(await readLimit()).toBe(limit);
  await kube.delete(resourceQuotaKind, namespace, ACCESS_QUOTA);
  await runJob();
  expect(await readLimit()).toBe(limit);
});
