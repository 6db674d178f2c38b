import { describe, expect, test } from "vitest";
import type { NodePool, NodePoolSpec, NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { poolAmounts } from "../../shared/crd/quota.ts";
import { quotaUseOf, withKeptNodes } from "../resources/project/index.ts";
import {
  effectsOfCreate,
  effectsOfDelete,
  effectsOfUpdate,
  effectsOfUpgrade,
  sumEffects,
  toBilledPool,
} from "./effects.ts";

const SPEC: NodePoolSpec = {
  clusterName: "blue",
  vcpus: 2,
  memoryGB: 4,
  diskGB: 20,
  minNodes: 0,
  maxNodes: 10,
  desiredNodes: 3,
};
const AUTOSCALED = { minVCPUs: 4, maxVCPUs: 12 };

/** No manager sets its count any more, and it keeps them. */
const RELEASED: NodePoolStatus = {
  nodes: 4,
  conditions: [
    {
      type: "Scaling",
      status: "False",
      reason: "CountReleased",
      message: "It keeps 4 nodes.",
      lastTransitionTime: "2026-11-21T09:00:00Z",
    },
  ],
};

function aPool(spec: Partial<NodePoolSpec> = {}, status: NodePoolStatus = {}): NodePool {
  return {
    apiVersion: "v1",
    kind: "NodePool",
    metadata: { name: "web" },
    spec: { ...SPEC, ...spec },
    status,
  };
}

const nodes = (added: number, replaced = 0, removed = 0) => ({
  nodes_added: added,
  nodes_replaced: replaced,
  nodes_removed: removed,
});

describe("a change of a pool means in nodes", () => {
  test.each<[string, NodePool, Partial<NodePoolSpec>, ReturnType<typeof nodes>]>([
    ["nothing without a change", aPool(), {}, nodes(0)],
    ["more", aPool(), { desiredNodes: 5 }, nodes(2)],
    ["fewer", aPool(), { desiredNodes: 1 }, nodes(0, 0, 2)],
    ["all anew for another CPU", aPool(), { vcpus: 4 }, nodes(0, 3)],
    ["all anew for another disk", aPool(), { diskGB: 40 }, nodes(0, 3)],
    ["those that stay anew", aPool(), { memoryGB: 8, desiredNodes: 1 }, nodes(0, 1, 2)],
    [
      "nothing for labels, timeouts and bounds",
      aPool(),
      { nodeLabels: {}, drainTimeoutSeconds: 60, maxNodes: 50 },
      nodes(0),
    ],
    ["nothing when it becomes autoscaled within the range", aPool(), AUTOSCALED, nodes(0)],
    ["as many as the new range needs", aPool(), { minVCPUs: 10, maxVCPUs: 12 }, nodes(2)],
    ["as few as the new range allows", aPool(), { maxVCPUs: 2 }, nodes(0, 0, 2)],
    [
      "the user's number again when it becomes fixed",
      aPool(AUTOSCALED, { nodes: 6 }),
      { minVCPUs: undefined, maxVCPUs: undefined },
      nodes(0, 0, 3),
    ],
    [
      "nothing for the desired nodes of an autoscaled one",
      aPool(AUTOSCALED, { nodes: 6 }),
      { desiredNodes: 9 },
      nodes(0),
    ],
    [
      "the live nodes of an autoscaled one anew",
      aPool(AUTOSCALED, { nodes: 6 }),
      { diskGB: 40 },
      nodes(0, 6),
    ],
    [
      "the kept nodes of a released one anew",
      aPool({ desiredNodes: 1 }, RELEASED),
      { vcpus: 4 },
      nodes(0, 4),
    ],
    [
      "one more than a released one keeps",
      aPool({ desiredNodes: 1 }, RELEASED),
      { desiredNodes: 5 },
      nodes(1),
    ],
    [
      "nothing when a released one becomes autoscaled",
      aPool({ desiredNodes: 1 }, RELEASED),
      AUTOSCALED,
      nodes(0),
    ],
    [
      "those of a number that was set since",
      aPool({ desiredNodes: 2 }, RELEASED),
      { desiredNodes: 3 },
      nodes(1),
    ],
  ])("%s", (_, before, change, effects) => {
    expect(effectsOfUpdate(before, { ...before.spec, ...change })).toEqual(effects);
  });
});

test("a released pool is billed and counts with the nodes that it keeps", () => {
  const pool = aPool({ desiredNodes: 1 }, RELEASED);
  expect(toBilledPool("id", pool.spec, pool)).toMatchObject({ nodes: 4, maxNodes: 4 });
  expect(poolAmounts(withKeptNodes(pool))).toMatchObject({ nodes: 4, vcpus: 8 });
});

test("machines that a smaller pool still has are in use, and those that stay are among the ones it would get again", () => {
  const machine = { ready: true, createdAt: "2026-11-21T09:00:00Z", ...SPEC };
  const machines = ["Running", "Deleting"].map((phase) => ({ ...machine, phase, name: phase, uid: phase }));
  const pool = aPool({ desiredNodes: 0 }, { machines });
  expect(quotaUseOf(pool)).toMatchObject({ nodePools: 1, nodes: 2, vcpus: 4, memoryGB: 8 });
  expect(quotaUseOf(pool, { ...SPEC, desiredNodes: 2 })).toMatchObject({ nodes: 3, vcpus: 6, memoryGB: 12 });
});

test.each<[string, Partial<NodePoolSpec>, number]>([
  ["fixed", {}, 3],
  ["autoscaled", AUTOSCALED, 2],
  ["autoscaled from nothing", { minVCPUs: 0, maxVCPUs: 8, minMemoryGB: 0, maxMemoryGB: 8 }, 0],
])("a new pool that is %s begins with its nodes", (_, spec, added) => {
  expect(effectsOfCreate({ ...SPEC, ...spec })).toEqual(nodes(added));
});

test("a deleted pool loses the nodes that exist", () => {
  expect(effectsOfDelete(aPool({}, { nodes: 2 }))).toEqual(nodes(0, 0, 2));
  expect(effectsOfDelete(aPool())).toEqual(nodes(0));
});

test("an upgrade replaces every node that runs another version", () => {
  expect(effectsOfUpgrade(aPool({}, { nodes: 2, version: "1.34.2" }), "1.35.1")).toEqual(nodes(0, 2));
  expect(effectsOfUpgrade(aPool({}, { nodes: 2, version: "1.35.1" }), "v1.35.1")).toEqual(nodes(0));
  expect(effectsOfUpgrade(aPool(), "1.35.1")).toEqual(nodes(0));
});

test("the effects of several pools add up", () => {
  expect(sumEffects([nodes(1, 2, 3), nodes(4, 5, 6)])).toEqual(nodes(5, 7, 9));
});
