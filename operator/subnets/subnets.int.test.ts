import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import { type ConfigMap, configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import {
  ALLOCATION_SELECTOR,
  compareAllocations,
  planSubnetAllocation,
  readAllocation,
} from "./allocation.ts";
import { chooseSubnet, parseSubnetRange } from "./range.ts";

const api = setUp(openTestApi);

async function listAllocations() {
  const objects = await api.client.listAll(configMapKind, {
    namespace: api.namespace,
    labelSelector: ALLOCATION_SELECTOR,
  });
  return objects.flatMap((object) => readAllocation(object) ?? []);
}

/** What a reconcile does, by the view that this operator has of the allocations: at first it is stale. */
async function take(clusterId: string, view: readonly { clusterId: string; subnet: string }[]) {
  let allocations = view;
  for (;;) {
    if (allocations.some((one) => one.clusterId === clusterId)) return "taken";
    const subnet = chooseSubnet(range, new Set(allocations.map((one) => one.subnet)), clusterId);
    if (subnet === undefined) return "full";
    const step = planSubnetAllocation(api.namespace, subnet, clusterId);
    if (step.verb !== "create") throw new Error("an allocation is created, never applied");
    try {
      await api.client.create(configMapKind, step.object as ConfigMap, { fieldManager: "test" });
    } catch (error) {
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    }
    allocations = await listAllocations();
  }
}

const range = parseSubnetRange("10.64.0.0/19");

test("two operators at once never assign a subnet twice, and agree on each cluster's subnet", async () => {
  const clusters = Array.from({ length: 16 }, () => randomUUID());
  const both = [...clusters, ...clusters].map((id) => take(id, []));
  expect(new Set(await Promise.all(both))).toEqual(new Set(["taken"]));

  const all = await listAllocations();
  expect(new Set(all.map((one) => one.subnet)).size).toBe(all.length);
  const owns = clusters.map((id) => all.filter((one) => one.clusterId === id).sort(compareAllocations)[0]);
  expect(new Set(owns.map((own) => own?.subnet)).size).toBe(16);
});

test("when all are taken none is assigned until one is released", async () => {
  const fill = Array.from({ length: 32 }, () => take(randomUUID(), []));
  expect(await Promise.all(fill)).toContain("full");
  const [some] = await listAllocations();
  await api.client.delete(configMapKind, api.namespace, some?.name ?? "");
  expect(await take(randomUUID(), await listAllocations())).toBe("taken");
});
