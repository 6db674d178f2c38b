import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { kubectl, waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { formatLimits, NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { configMapKind, namespaceKind, resourceQuotaKind, secretKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { recordSystemAudits } from "../audit/index.ts";
import { startTestApp } from "../testing/app.ts";
import { removeEndedNamespaces } from "./jobs.ts";
import { ensureNamespace, organizationNamespace } from "./namespace.ts";
import { organizations } from "./table.ts";

const BY_MARINA = { fieldManager: "marina-apiserver" };
const BY_HAND = { fieldManager: "kubectl" };

const api = setUp(startTestApp);

/** An organization, deleted or not; its Namespace is not made yet. */
async function addOrganization(isDeleted: boolean): Promise<string> {
  const id = createId();
  await api.deps.db.insert(organizations).values({
    id,
    name: "Ended",
    slug: `ended-${id.slice(-8)}`,
    deletedAt: isDeleted ? sql`now()` : null,
  });
  return id;
}

const deleteOrganization = (orgId: string) =>
  api.deps.db.update(organizations).set({ deletedAt: sql`now()` }).where(eq(organizations.id, orgId));

/** The Namespace of an organization that is deleted then. */
async function addEndedNamespace(): Promise<string> {
  const orgId = await addOrganization(false);
  const namespace = await ensureNamespace(api.deps, orgId);
  await deleteOrganization(orgId);
  return namespace;
}

/** Whether the Namespace is deleted, or about to be. */
async function isEnded(namespace: string): Promise<boolean> {
  const found = await api.deps.kube.get(namespaceKind, undefined, namespace);
  return found?.metadata.deletionTimestamp !== undefined || found === undefined;
}

const findAudits = (namespace: string) =>
  api.deps.sql`select action, actor, result from audit_log where target_id = ${namespace} order by id`;

/** Runs the job; again when it failed, as while another test removes a kind that it lists. */
const run = () =>
  waitFor("a run of the job", async () => {
    await removeEndedNamespaces(api.deps, new AbortController().signal);
    return true;
  });

/** Runs it until it has removed the Namespace: one that changes while it is looked at is left to the next run. */
const runUntilEnded = (namespace: string) =>
  waitFor("the Namespace to be removed", async () => {
    await run();
    return isEnded(namespace);
  });

test("the Namespace of a deleted organization is removed when only what belongs to every Namespace is left", async () => {
  const { kube } = api.deps;
  const namespace = await addEndedNamespace();
  expect(await kube.get(storageInventoryKind, namespace, STORAGE_INVENTORY_NAME)).toBeDefined();
  await waitFor("Kubernetes' own ConfigMap", () => kube.get(configMapKind, namespace, "kube-root-ca.crt"));
  const ending = { ...kube, delete: () => Promise.reject(new Error("the process has ended")) };
  const { signal } = new AbortController();
  const [action, name, results] = ["namespace.delete", "ended-namespaces", ["accepted", "done"] as const];
  const target = { kind: "namespace", id: namespace };
  // One of its name was removed before.
  const earlier = { action, target, orgId: namespace.slice("org-".length), before: { uid: createId() } };
  const rows = results.map((result) => ({ ...earlier, result }));
  await recordSystemAudits(api.deps.db, name, rows);
  await removeEndedNamespaces({ ...api.deps, kube: ending }, signal).catch(() => undefined);
  await runUntilEnded(namespace);
  const actor = { kind: "system", name };
  expect(await findAudits(namespace)).toEqual(
    [...results, ...results].map((result) => ({ action, actor, result })),
  );
});

test("it stays while anything else is left in it, of whatever kind", async () => {
  const { kube } = api.deps;
  const [withSecret, withConfigMap, withQuota] = [
    await addEndedNamespace(),
    await addEndedNamespace(),
    await addEndedNamespace(),
  ];
  await kube.create(secretKind, { metadata: { name: "keep", namespace: withSecret } }, BY_HAND);
  await kube.create(configMapKind, { metadata: { name: "keep", namespace: withConfigMap } }, BY_HAND);
  await kube.create(resourceQuotaKind, { metadata: { name: "keep", namespace: withQuota } }, BY_HAND);
  await run();
  for (const namespace of [withSecret, withConfigMap, withQuota])
    expect(await isEnded(namespace)).toBe(false);

  await kube.delete(secretKind, withSecret, "keep");
  await runUntilEnded(withSecret);
  expect(await isEnded(withConfigMap)).toBe(false);
});

test("it stays while the organization exists, and when it was not made by Marina", async () => {
  const { kube } = api.deps;
  const alive = await ensureNamespace(api.deps, await addOrganization(false));
  const deleted = await addOrganization(true);
  const labels = { "cloud.marina.dev/org-id": deleted };
  const made = await kube.create(
    namespaceKind,
    { metadata: { name: organizationNamespace(deleted), labels } },
    BY_HAND,
  );
  // By an administrator under Marina's name: its own programs write no such Namespace, by policy.
  const named = `team-${deleted}`;
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: named, labels } };
  await kubectl(["create", `--field-manager=${BY_MARINA.fieldManager}`, "--filename", "-"], {
    stdin: JSON.stringify(namespace),
  });
  await run();
  for (const name of [alive, made.metadata.name, named]) expect(await isEnded(name)).toBe(false);
});

test("a Namespace that stays, whoever made it, has quotas of 0, and no longer the slug and the name of its deleted organization", async () => {
  const { kube } = api.deps;
  const byMarina = await addOrganization(false);
  const byOthers = await addOrganization(false);
  const labels = { "cloud.marina.dev/org-id": byOthers };
  await kube.create(namespaceKind, { metadata: { name: organizationNamespace(byOthers), labels } }, BY_HAND);
  const show = async (orgId: string) => {
    const { metadata } = (await kube.get(namespaceKind, undefined, organizationNamespace(orgId))) ?? {};
    return [
      metadata?.labels?.["cloud.marina.dev/org-id"] === orgId,
      metadata?.labels?.["cloud.marina.dev/org-slug"] !== undefined,
      metadata?.annotations?.["cloud.marina.dev/org-name"] !== undefined,
      metadata?.annotations?.["cloud.marina.dev/quotas"] !== formatLimits(NO_AMOUNTS),
    ];
  };
  for (const orgId of [byMarina, byOthers]) {
    const namespace = await ensureNamespace(api.deps, orgId);
    await kube.create(secretKind, { metadata: { name: "keep", namespace } }, BY_HAND);
    expect(await show(orgId)).toEqual([true, true, true, true]);
    await run();
    expect(await show(orgId)).toEqual([true, true, true, true]);
    await deleteOrganization(orgId);
    await run();
    expect(await show(orgId)).toEqual([true, false, false, false]);
  }
});

test("a deleted organization is given no Namespace", async () => {
  await expect(ensureNamespace(api.deps, await addOrganization(true))).rejects.toThrow("does not exist");
});
