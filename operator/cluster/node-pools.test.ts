import { describe, expect, test } from "vitest";
import { ANNOTATION_APPLIED } from "../../shared/crd/names.ts";
import { makeMachine } from "../node-pool/testing.ts";
import { capiPoolWith, hashOfPool, makeCondition, makePool, START } from "../testing.ts";
import { aCluster, type ClusterFixture, clusterPoolOf } from "../testing-cluster.ts";
import { conditionOf, topologyOf } from "./testing-plan.ts";

test("a new pool of a ready cluster is scaling, and the cluster stays ready", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const { pools } = fixture.observed;
  const plan = fixture.with({ pools: [...pools, clusterPoolOf(makePool("db"))] }).plan();
  expect(topologyOf(plan)?.workers?.machineDeployments?.map((pool) => pool.name)).toEqual(["web", "db"]);
  expect(plan.status?.phase).toBe("Scaling");
  expect(conditionOf(plan, "Ready")).toMatchObject({ status: "True" });
});

test("pools that wait for long are reported by their own Warnings, and by the message of the cluster with the next step", () => {
  const fixture = aCluster().withPools(makePool("web")).ready().reconciled();
  const larger = fixture.observed.pools.map((one) => ({
    ...one,
    pool: makePool("web", { desiredNodes: 7 }),
  }));
  const reported = fixture.with({ pools: larger }).reconciled().after(61).plan();
  expect(reported.status?.message).toBe(
    "Node pools that do not have all their nodes as specified: web. Look at the message of each for what it waits for.",
  );
  expect(reported.events).toEqual([]);
});

test("a cluster that waits for itself after it has waited for its pools gets an Event, although the reason is the same", () => {
  const late = aCluster().withPools(makePool("web")).reconciled().capiConverged();
  const waiting = late.withCapiConditions([makeCondition("Available", "False", { message: "no route" })]);
  const ofPools = waiting.with({
    pools: late.observed.pools.map((it) => ({ ...it, machineDeployment: undefined })),
  });
  const reported = ofPools.reconciled().after(61);
  expect(reported.plan()).toMatchObject({ status: { message: expect.stringContaining("web") }, events: [] });
  const complete = reported.reconciled().with({ pools: late.observed.pools });
  const event = { type: "Normal", reason: "WaitingForNodes", note: expect.stringContaining("no route") };
  expect(complete.plan().events).toMatchObject([event]);
  expect(complete.reconciled().after(61).plan().events).toEqual([]);
});

test("a change of the pools alone leaves the network rules in force, one of the rules does not", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const { pools } = fixture.observed;
  const larger = pools.map((entry) => ({ ...entry, pool: makePool("web", { desiredNodes: 7 }) }));
  const scaled = fixture.with({ pools: larger });
  expect(topologyOf(scaled.plan())?.workers?.machineDeployments).toMatchObject([{ replicas: 7 }]);
  expect(conditionOf(scaled.plan(), "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  const gone = scaled.with({ capi: undefined });
  expect(conditionOf(gone.plan(), "NetworkPolicyApplied")).toMatchObject({ status: "Unknown" });
  const narrowed = fixture.withSpec({ network: { authorizedCIDRs: ["198.51.100.0/24"] } });
  expect(conditionOf(narrowed.plan(), "NetworkPolicyApplied")).toMatchObject({ status: "False" });
});

test.each([
  ["is being deleted", makePool("db", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), false],
  ["has no finalizer yet", makePool("db", {}, { finalizers: [] }), false],
  ["has a predecessor that Cluster API is still deleting", makePool("db"), true],
])("a pool that %s is not in the topology", (_what, pool, capiDeleting) => {
  const fixture = aCluster().withPools(makePool("web"));
  const pools = [...fixture.observed.pools, clusterPoolOf(pool, { capiDeleting })];
  const names = topologyOf(fixture.with({ pools }).plan())?.workers?.machineDeployments?.map((it) => it.name);
  expect(names).toEqual(["web"]);
});

test("a pool that was taken in stays in the topology while a manifest replaces it without the finalizer", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const replaced = fixture.observed.pools.map((one) => {
    const { finalizers: _, labels: __, ...metadata } = one.pool.metadata;
    const status = { ...one.pool.status, id: "01900000-0000-7000-8000-000000000009" };
    return { ...one, pool: { ...one.pool, metadata, status } };
  });
  const plan = fixture.with({ pools: replaced }).plan();
  expect(topologyOf(plan)).toBeUndefined();
  expect(plan.remove).toEqual([]);
});

test("a foreign pool in the topology is removed, with a Warning Event", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const object = structuredClone(fixture.capiObject());
  object.spec?.topology?.workers?.machineDeployments?.push({ class: "default", name: "alien" });
  const plan = fixture.withCapi(object).plan();
  expect(plan.remove).toMatchObject([
    {
      verb: "patch",
      operations: [
        { op: "test", path: "/spec/topology/workers/machineDeployments/1/name", value: "alien" },
        { op: "remove", path: "/spec/topology/workers/machineDeployments/1" },
      ],
      event: { reason: "ForeignNodePoolRemoved", type: "Warning" },
    },
  ]);
});

test("a pool can change during an upgrade", () => {
  const upgrading = aCluster().withPools(makePool("web")).ready().withSpec({ version: "1.35" }).reconciled();
  const rolling = upgrading.withCapiConditions([makeCondition("RollingOut", "True")]);
  const plan = rolling.withPools(makePool("web", { desiredNodes: 5 })).plan();
  expect(topologyOf(plan)).toMatchObject({ version: "v1.35.1" });
  expect(topologyOf(plan)?.workers?.machineDeployments?.[0]?.replicas).toBe(5);
});

test("the cluster does not wait for a pool that is being deleted", () => {
  const pool = makePool("web", {}, { deletionTimestamp: START.toISOString() });
  const left = clusterPoolOf(pool, { machineDeployment: capiPoolWith({ desired: 2, nodes: 1 }) });
  const plan = aCluster()
    .ready()
    .with({ pools: [left] })
    .plan();
  expect(plan.status).toMatchObject({ phase: "Ready", nodes: { total: 1 } });
  expect(conditionOf(plan, "WorkersReady")).toMatchObject({ status: "True" });
});

test("a cluster whose pools are to have 0 nodes has all of them: no Event of it is a Warning, however long it is so", () => {
  const created = aCluster()
    .withPools(makePool("web", { desiredNodes: 0 }))
    .reconciled();
  const ready = created.capiConverged();
  const reported = ready.plan();
  expect(reported.status).toMatchObject({ phase: "Ready", nodes: { ready: 0, total: 0 } });
  expect(reported.events).toMatchObject([
    { type: "Normal", note: expect.stringContaining("nodes ready: 0 of 0.") },
  ]);
  expect(ready.reconciled().after(3600).plan().events).toEqual([]);
});

describe("a pool grows no further than its status can list its machines, by which they are billed", () => {
  const AUTOSCALED = { vcpus: 2, minVCPUs: 2, maxVCPUs: 2000 };

  /** A pool with so many nodes in the live topology, and so many machines of which some are being deleted. */
  function busyWith(
    fixture: ClusterFixture,
    spec: object,
    { machines, deleting }: { machines: number; deleting: number },
  ) {
    const pools = fixture.observed.pools.map((one) => ({
      ...one,
      pool: makePool("web", spec),
      machines: Array.from({ length: machines }, (_, n) => ({
        ...makeMachine(`m-${n}`),
        deleting: n < deleting,
      })),
    }));
    return fixture.with({ pools });
  }

  const having = (nodes: number) =>
    aCluster()
      .withPools(makePool("web", { desiredNodes: nodes }))
      .ready();

  function sizeOf(spec: object, { nodes, ...counts }: { nodes: number; machines: number; deleting: number }) {
    const topology = topologyOf(busyWith(having(nodes), spec, counts).plan());
    if (topology === undefined) return nodes;
    const [entry] = topology.workers?.machineDeployments ?? [];
    const bound = (end: string) =>
      entry?.metadata?.annotations?.[`cluster.x-k8s.io/cluster-api-autoscaler-node-group-${end}-size`];
    return entry?.replicas ?? `${bound("min")} to ${bound("max")}`;
  }

  test.each([
    ["as far as it asks, beside a few that are drained", { desiredNodes: 1000 }, [1, 100, 99], 1000],
    ["to the rest of the list, beside many that are drained", { desiredNodes: 1000 }, [0, 1000, 1000], 100],
    ["as little, before Cluster API has begun to delete them", { desiredNodes: 1000 }, [0, 1000, 0], 100],
    ["further, when some of them are gone", { desiredNodes: 1000 }, [100, 600, 500], 600],
    ["to what it has, beside more than the list has room for", { desiredNodes: 1000 }, [900, 1200, 300], 900],
    ["down at once, beside as many", { desiredNodes: 10 }, [900, 1200, 300], 10],
    ["to the rest of the list by its autoscaler", AUTOSCALED, [1, 901, 900], "1 to 200"],
    ["as far as its autoscaler may", AUTOSCALED, [1, 1, 0], "1 to 1000"],
  ] as const)("%s", (_, spec, [nodes, machines, deleting], size) => {
    expect(sizeOf(spec, { nodes, machines, deleting })).toBe(size);
  });

  test.each([
    ["fixed", { desiredNodes: 1000 }],
    ["autoscaled", AUTOSCALED],
  ])(
    "of a pool that is %s this bound is no setting that its nodes lack, and most machines that go lead to no apply",
    (_, spec) => {
      const limited = busyWith(having(700), spec, { machines: 1050, deleting: 350 }).reconciled();
      const [entry] = limited.capiObject().spec?.topology?.workers?.machineDeployments ?? [];
      expect(entry?.metadata?.annotations?.[ANNOTATION_APPLIED]).toBe(hashOfPool(spec));
      const applies = Array.from({ length: 50 }, (_one, gone) =>
        busyWith(limited, spec, { machines: 1050 - gone, deleting: 350 - gone }).plan(),
      ).filter(({ write }) => write.length > 0);
      expect(applies).toEqual([]);
      const grown = busyWith(limited, spec, { machines: 1000, deleting: 300 }).plan();
      expect(grown.write).toHaveLength(1);
    },
  );
});
