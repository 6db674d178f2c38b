import { eq } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { namespaceKind, resourceQuotaKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { startTestApp } from "../testing/app.ts";
import { organizationJobs } from "./jobs.ts";
import {
  applyObjectQuota,
  ensureNamespace,
  hasLimits,
  OBJECT_QUOTA,
  objectLimitsOf,
  organizationNamespace,
} from "./namespace.ts";
import { readPublished, updateQuotas } from "./namespace-store.ts";
import { readQuotas } from "./store.ts";
import { organizations } from "./table.ts";

const BY_TEST = { fieldManager: "kubectl" };

const api = setUp(startTestApp);

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

/** The limits that the organization of a Namespace has by its quotas, which are the default ones. */
const limitsOfDefault = () =>
  objectLimitsOf(api.deps.config.quotas, api.deps.config.maxClusterAccessesPerOrganization);

async function insertOrganization(name: string): Promise<string> {
  const id = createId();
  await api.deps.db.insert(organizations).values({ id, name, slug: `${name}-${id.slice(-8)}` });
  return id;
}

/** The names of the quotas in a Namespace that have the limits of the organization. */
async function listLimited(namespace: string): Promise<string[]> {
  const quotas = await api.deps.kube.listAll(resourceQuotaKind, { namespace });
  const limits = limitsOfDefault();
  return quotas
    .filter((quota) => hasLimits(quota, limits[quota.metadata.name] ?? {}))
    .map(({ metadata }) => metadata.name)
    .sort();
}

/** Creates the Namespace of an organization as others than Marina do: with its id alone. */
function createNamespace(orgId: string, finalizers: string[] = []) {
  const metadata = {
    name: organizationNamespace(orgId),
    labels: { "cloud.marina.dev/org-id": orgId },
    finalizers,
  };
  return api.deps.kube.create(namespaceKind, { metadata }, BY_TEST);
}

const QUOTAS = ["marina-cluster-accesses", "marina-clusters"];

test("a Namespace whose creation was interrupted gets its limits of objects and its inventory from the job", async () => {
  const { db, kube, config } = api.deps;
  const id = await insertOrganization("half");
  const apply: typeof kube.apply = () => Promise.reject(new Error("interrupted"));
  await expect(ensureNamespace({ db, config, kube: { ...kube, apply } }, id)).rejects.toThrow("interrupted");
  const name = organizationNamespace(id);
  expect(await kube.get(namespaceKind, undefined, name)).toBeDefined();
  const [missing] = organizationJobs(api.deps);
  await missing?.run(new AbortController().signal);
  expect(await listLimited(name)).toEqual(QUOTAS);
  expect(await kube.get(storageInventoryKind, name, STORAGE_INVENTORY_NAME)).toBeDefined();
});

test("a Namespace is not up to date when the quotas were changed while it was written, and the job writes them", async () => {
  const { db, kube, config } = api.deps;
  const id = await insertOrganization("raised");
  let isFirst = true;
  const apply: typeof kube.apply = async (...written) => {
    if (isFirst) {
      isFirst = false;
      const { configured, version } = await readQuotas(db, id, config.quotas);
      const raised = { configured: { ...configured, clusters: 777 }, version: version + 1 };
      await updateQuotas(db, { orgId: id, defaults: config.quotas }, raised);
    }
    return kube.apply(...written);
  };
  const name = await ensureNamespace({ db, config, kube: { ...kube, apply } }, id);
  const [missing] = organizationJobs(api.deps);
  await missing?.run(new AbortController().signal);
  const { quotas } = await readPublished(db, id, config.quotas);
  const limits = objectLimitsOf(quotas.effective, config.maxClusterAccessesPerOrganization);
  const written = await kube.get(resourceQuotaKind, name, OBJECT_QUOTA);
  expect(quotas.effective.clusters).toBe(777);
  expect(written !== undefined && hasLimits(written, limits[OBJECT_QUOTA] ?? {})).toBe(true);
});

test("an organization's Namespace has its name and slug, and those of a rename by the next run of the job", async () => {
  const { db, kube } = api.deps;
  const id = await api.createOrganization();
  const show = async () => {
    const { labels, annotations } =
      (await kube.get(namespaceKind, undefined, organizationNamespace(id)))?.metadata ?? {};
    return [labels?.["cloud.marina.dev/org-slug"], annotations?.["cloud.marina.dev/org-name"]];
  };
  await ensureNamespace(api.deps, id);
  const [before] = await db.select().from(organizations).where(eq(organizations.id, id));
  expect(await show()).toEqual([before?.slug, before?.name]);
  const renamed = { name: "Bäckerei „Möwe“ GmbH", slug: `moewe-${id.slice(-8)}` };
  expect((await api.request("PUT", `/api/v1/organizations/${id}`, { body: renamed })).status).toBe(200);
  const [missing] = organizationJobs(api.deps);
  await missing?.run(new AbortController().signal);
  await expect.poll(show).toEqual([renamed.slug, renamed.name]);
});

test.each<[string, (id: string) => Promise<unknown>]>([
  ["that is new", async () => undefined],
  ["that a restore tool or another request made", (id) => createNamespace(id)],
])("the limits of a Namespace %s hold at once, whoever counts first", async (_, prepare) => {
  const { db, kube, config } = api.deps;
  const id = await insertOrganization("counted");
  await prepare(id);
  let isFirst = true;
  // As kube-controller-manager writes a status while it does not know the kind: kube-apiserver refuses every object
  // then.
  const mergePatch: typeof kube.mergePatch = async (kind, namespace, name, patch, options) => {
    if (isFirst && options.subresource === "status") {
      isFirst = false;
      const hard = { ...limitsOfDefault()[name] };
      const status = { hard: Object.fromEntries(Object.keys(hard).map((key) => [key, "1"])) };
      await kube.mergePatch(kind, namespace, name, { status }, options);
    }
    return kube.mergePatch(kind, namespace, name, patch, options);
  };
  const namespace = await ensureNamespace({ db, config, kube: { ...kube, mergePatch } }, id);
  const quotas = await kube.listAll(resourceQuotaKind, { namespace });
  expect(isFirst).toBe(false);
  expect(quotas.map(({ metadata }) => metadata.name).sort()).toEqual(QUOTAS);
  for (const { metadata, status } of quotas) {
    const counts = Object.keys(limitsOfDefault()[metadata.name] ?? {});
    expect(status?.used).toEqual(Object.fromEntries(counts.map((key) => [key, "0"])));
    expect(Object.keys(status?.hard ?? {}).sort()).toEqual(counts.sort());
  }
});

test("an organization's Namespace limits its objects, and the job restores limits that were deleted or changed", async () => {
  const { kube } = api.deps;
  const namespace = await ensureNamespace(api.deps, await insertOrganization("limited"));
  const counted: string[] = [];
  const mergePatch: typeof kube.mergePatch = (kind, place, name, patch, options) => {
    if (place === namespace && options.subresource === "status") counted.push(name);
    return kube.mergePatch(kind, place, name, patch, options);
  };
  const jobs = organizationJobs({ ...api.deps, kube: { ...kube, mergePatch } });
  const job = jobs.find(({ name }) => name === "all-namespaces");
  // It fails when another test removes a Namespace that it has listed.
  const runJob = () =>
    waitFor("a run of the job", async () => {
      await job?.run(new AbortController().signal);
      return true;
    });
  expect(await listLimited(namespace)).toEqual(QUOTAS);
  for (const name of QUOTAS) {
    const raised = Object.fromEntries(Object.keys(limitsOfDefault()[name] ?? {}).map((key) => [key, 3000]));
    await applyObjectQuota(kube, { namespace, name }, raised);
  }
  await runJob();
  expect(await listLimited(namespace)).toEqual(QUOTAS);
  await kube.delete(resourceQuotaKind, namespace, OBJECT_QUOTA);
  await runJob();
  expect(await listLimited(namespace)).toEqual(QUOTAS);
  // The one that was deleted holds at once: nothing has counted for it.
  expect(counted).toContain(OBJECT_QUOTA);
});

test("a Namespace that hangs in its deletion delays neither other Namespaces nor their limits of objects", async () => {
  const { kube } = api.deps;
  const hanging = await insertOrganization("hanging");
  const late = await insertOrganization("late");
  const limited = await ensureNamespace(api.deps, await insertOrganization("limited"));
  const { metadata } = await createNamespace(hanging, ["example.com/hold"]);
  const { name } = metadata;
  onTestFinished(async () => {
    await kube.mergePatch(namespaceKind, undefined, name, { metadata: { finalizers: null } }, BY_TEST);
  });
  await kube.delete(namespaceKind, undefined, name);
  await kube.delete(resourceQuotaKind, limited, OBJECT_QUOTA);
  const [missing, all] = organizationJobs(api.deps);
  const { signal } = new AbortController();
  await expect(missing?.run(signal)).rejects.toThrow("is being deleted");
  expect(await kube.get(namespaceKind, undefined, organizationNamespace(late))).toBeDefined();
  await expect(all?.run(signal)).rejects.toThrow("is being deleted");
  expect(await listLimited(limited)).toEqual(QUOTAS);
});
