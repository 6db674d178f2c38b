import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import { type ConfigMap, configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { chooseSubnet, parseSubnetRange } from "./allocate.ts";
import { compareLocks, LOCK_SELECTOR, planSubnetAllocation, readLock, type SubnetLock } from "./lock.ts";

const api = setUp(openTestApi);

async function listLocks(): Promise<SubnetLock[]> {
  const objects = await api.client.listAll(configMapKind, {
    namespace: api.namespace,
    labelSelector: LOCK_SELECTOR,
  });
  return objects.flatMap((object) => readLock(object) ?? []);
}

/** What a reconcile does, by the view that this operator has of the locks: at first it is stale. */
async function take(clusterId: string, view: readonly SubnetLock[]): Promise<"taken" | "full"> {
  let locks = view;
  for (;;) {
    if (locks.some((lock) => lock.clusterId === clusterId)) return "taken";
    const subnet = chooseSubnet(range, new Set(locks.map((lock) => lock.subnet)), clusterId);
    if (subnet === undefined) return "full";
    const step = planSubnetAllocation(api.namespace, subnet, clusterId);
    if (step.verb !== "create") throw new Error("a lock is created, never applied");
    try {
      await api.client.create(configMapKind, step.object as ConfigMap, { fieldManager: "test" });
    } catch (error) {
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    }
    locks = await listLocks();
  }
}

const range = parseSubnetRange("10.64.0.0/19");

test("two operators at once never assign a subnet twice, and agree on each cluster's subnet", async () => {
  const clusters = Array.from({ length: 16 }, () => randomUUID());
  const nothing: SubnetLock[] = [];
  const both = [...clusters, ...clusters].map((id) => take(id, nothing));
  expect(new Set(await Promise.all(both))).toEqual(new Set(["taken"]));

  const locks = await listLocks();
  expect(new Set(locks.map((lock) => lock.subnet)).size).toBe(locks.length);
  const owns = clusters.map((id) => locks.filter((lock) => lock.clusterId === id).sort(compareLocks)[0]);
  expect(new Set(owns.map((own) => own?.subnet)).size).toBe(16);
});

test("when all are taken none is assigned until one is released", async () => {
  const fill = Array.from({ length: 32 }, () => take(randomUUID(), []));
  expect(await Promise.all(fill)).toContain("full");
  const [some] = await listLocks();
  await api.client.delete(configMapKind, api.namespace, some?.name ?? "");
  expect(await take(randomUUID(), await listLocks())).toBe("taken");
});
