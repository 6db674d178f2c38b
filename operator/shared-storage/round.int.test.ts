import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { INDEX_ORGANIZATION, indexByOrganization } from "../../shared/crd/organization.ts";
import { type StorageInventory, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import { configMapKind, type Namespace, namespaceKind } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createStore } from "../../shared/kube/store.ts";
import { createLogger } from "../../shared/program/log.ts";
import type { RunContext } from "../caches.ts";
import { makeRunContext } from "../cluster/testing-run.ts";
import { runInventory } from "./controller.ts";
import { createDirectoryDriver } from "./directory.ts";
import { StorageError } from "./driver.ts";
import { createPoolList } from "./pool-list.ts";
import { type RoundDeps, runRound } from "./round.ts";
import { anInventory, GIB } from "./testing.ts";

const START = new Date("2026-03-01T12:00:00Z");
const CONFIG_MAP = "shared-storage-orphans";
const MANAGER = { fieldManager: "test" };
const { signal } = new AbortController();

const api = setUp(openTestApi);
let root: string;
let now: Date;
let deps: RoundDeps;
let orgId: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "round-"));
  orgId = randomUUID();
  now = START;
  const inventories = createStore<StorageInventory>();
  inventories.set(anInventory());
  deps = {
    caches: {
      inventories,
      namespaces: createStore<Namespace>({ [INDEX_ORGANIZATION]: indexByOrganization }),
    },
    client: api.client,
    pools: createPoolList(),
    driver: createDirectoryDriver(root),
    platformNamespace: api.namespace,
    intervalMs: 60_000,
    now: () => now,
    log: createLogger({ name: "test", level: "silent" }),
  };
  await deps.driver.ensurePool(orgId, GIB, signal);
  await writeFile(join(root, `org-${orgId}`, "file"), "data");
  return async () => {
    await rm(root, { recursive: true });
    await api.client.delete(configMapKind, api.namespace, CONFIG_MAP);
  };
});

/** Notes the reasons of the Events that are recorded. */
function makeContext(reasons: string[] = []): RunContext {
  return {
    ...makeRunContext(api.client, "example.com/none", "marina-operator"),
    recorder: { record: ({ reason }) => reasons.push(reason) },
    statusFieldManager: "test",
    signal,
  };
}

/** One round, this many days after the first; resolves to the keys that it had reconciled. */
async function runAfter(days: number): Promise<string[]> {
  now = new Date(START.getTime() + days * 24 * 3600_000);
  const keys: string[] = [];
  const result = await runRound(deps, { add: (key) => keys.push(key) }, makeContext());
  expect(result).toEqual({ requeueAfterMs: 60_000 });
  return keys;
}

const readTimes = async () => (await api.client.get(configMapKind, api.namespace, CONFIG_MAP))?.data ?? {};
const listFolders = async () => (await readdir(root)).filter((name) => name.startsWith("org-"));

test("a pool is removed 7 days after the first round without its inventory, which outlives a restart", async () => {
  expect(await runAfter(0)).toEqual(deps.caches.inventories.keys());
  expect(await readTimes()).toEqual({ [orgId]: "2026-03-01T12:00:00Z" });
  await runAfter(6.9);
  expect(await listFolders()).toEqual([`org-${orgId}`]);
  deps.pools = createPoolList();
  await runAfter(7);
  expect(await listFolders()).toEqual([]);
  await runAfter(7.1);
  expect(await readTimes()).toEqual({});
});

test("a round in which no time changed writes nothing", async () => {
  await runAfter(0);
  const before = await api.client.get(configMapKind, api.namespace, CONFIG_MAP);
  await runAfter(1);
  const after = await api.client.get(configMapKind, api.namespace, CONFIG_MAP);
  expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});

test("a pool stays when its inventory exists, though the cache does not show it", async () => {
  const namespace = `org-${orgId}`;
  await api.client.create(namespaceKind, { metadata: { name: namespace } }, MANAGER);
  const metadata = { name: "shared-storage", namespace };
  await api.client.create(storageInventoryKind, { metadata, spec: {} }, MANAGER);
  await runAfter(0);
  await runAfter(8);
  expect(await listFolders()).toEqual([namespace]);
  await api.client.delete(namespaceKind, undefined, namespace);
});

test("a pool stays while there is no inventory at all", async () => {
  await runAfter(0);
  for (const key of deps.caches.inventories.keys()) deps.caches.inventories.remove(key);
  await runAfter(8);
  expect(await listFolders()).toEqual([`org-${orgId}`]);
});

/** An inventory of the organization in the namespace of the test, as it was before somebody else wrote it. */
async function addInventory(): Promise<StorageInventory> {
  const { namespace, client } = api;
  const labels = { [LABEL_ORG_ID]: orgId };
  deps.caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } });
  const metadata = { name: "shared-storage", namespace };
  const spec = { quotaBytes: 2 * GIB };
  const old = await client.create(storageInventoryKind, { metadata, spec }, MANAGER);
  onTestFinished(() => client.delete(storageInventoryKind, namespace, metadata.name));
  const patch = { metadata: { annotations: { "example.com/note": "another version" } } };
  await client.mergePatch(storageInventoryKind, namespace, metadata.name, patch, MANAGER);
  return old;
}

/** A function that reconciles the inventory given, notes the reasons of Events, and keeps what a program keeps. */
function prepareRun(reasons: string[]) {
  const unread = new Map<string, number>();
  return (inventory: StorageInventory) => {
    deps.caches.inventories.set(inventory);
    const inventoryDeps = { ...deps, defaultQuotaBytes: GIB, unread };
    return runInventory(inventoryDeps, objectKey(inventory), makeContext(reasons));
  };
}

const CHANGES: [string, () => Promise<void>][] = [
  ["StorageCreated", () => deps.driver.removePool(orgId, signal)],
  ["QuotaChanged", async () => undefined],
];

test.each(CHANGES)(
  "%s is recorded once, although somebody else wrote the inventory before its status",
  async (reason, prepare) => {
    const old = await addInventory();
    await prepare();
    await runAfter(0);
    const reasons: string[] = [];
    const run = prepareRun(reasons);
    await expect(run(old)).rejects.toMatchObject({ isConflict: true });
    // The operator of the stack writes its status, too: the namespace is of no organization for it.
    await waitFor("its status", async () => {
      await run((await api.client.get(storageInventoryKind, api.namespace, "shared-storage")) ?? old);
      return true;
    });
    expect(reasons).toEqual([reason]);
  },
);

test.each(CHANGES)(
  "%s is recorded once, although the storage cannot be read after the change, before or after the next round",
  async (reason, prepare) => {
    const old = await addInventory();
    await prepare();
    await runAfter(0);
    const { driver } = deps;
    const readPool = () => Promise.reject(new StorageError("unavailable", "no answer"));
    const reasons: string[] = [];
    const run = prepareRun(reasons);
    deps.driver = { ...driver, readPool };
    for (let times = 0; times < 2; times += 1)
      await expect(run(old)).rejects.toMatchObject({ isConflict: true });
    deps.driver = driver;
    await runAfter(0.1);
    await expect(run(old)).rejects.toMatchObject({ isConflict: true });
    expect(reasons).toEqual([reason]);
  },
);

test("a limit that the storage accepts and does not report is no change", async () => {
  const old = await addInventory();
  await runAfter(0);
  const reasons: string[] = [];
  deps.driver = { ...deps.driver, setQuota: async () => undefined };
  await expect(prepareRun(reasons)(old)).rejects.toMatchObject({ isConflict: true });
  expect(reasons).toEqual([]);
});
