import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import type { QuotaAmounts } from "../../shared/crd/quota.ts";
import { createId } from "../../shared/program/id.ts";
import { startTestApp, type TestRequest } from "../testing/app.ts";
import { readUse } from "./store.ts";
import { BODY, createDryRunFixture, type DryRunFixture, POOL, readTraces } from "./testing.ts";

const api = setUp(startTestApp);
let at: DryRunFixture;

const POOL_AMOUNTS: QuotaAmounts = { clusters: 0, nodePools: 1, nodes: 2, vcpus: 4, memoryGB: 8 };
/** Fields that the operator writes in the background, or that differ in every request. */
const VOLATILE = [
  "created_at",
  "updated_at",
  "status_message",
  "conditions",
  "observed_generation",
  "node_pools",
];

function stable(record: Record<string, unknown>, isNew: boolean): Record<string, unknown> {
  const left = [...VOLATILE, ...(isNew ? ["id"] : [])];
  // A cluster that cannot be created has a network, and fails, some time after it was accepted.
  return Object.fromEntries(
    Object.entries({ ...record, worker_subnet: "" }).map(([name, value]) => [
      name,
      left.includes(name) ? "" : name === "status" && value === "failed" ? "provisioning" : value,
    ]),
  );
}

interface Case {
  method: string;
  path: () => string;
  body?: unknown;
  /** Expected of nodes_added, nodes_replaced, nodes_removed. */
  nodes?: [number, number, number];
  /** What is free once a deletion has come to its end. */
  frees?: QuotaAmounts;
}

const cases: [string, Case][] = [
  ["a cluster", { method: "POST", path: () => at.clusters, body: { ...BODY, name: "Second" } }],
  [
    "a cluster with pools",
    {
      method: "POST",
      path: () => at.clusters,
      body: {
        ...BODY,
        name: "Second",
        authorized_cidrs: ["203.0.113.0/24"],
        node_pools: [POOL, { ...POOL, name: "auto", max_vcpus: 12, max_memory_gb: 24 }],
      },
      nodes: [3, 0, 0],
    },
  ],
  ["another name of a cluster", { method: "PUT", path: () => at.cluster, body: { name: "Renamed" } }],
  ["nothing of a cluster", { method: "PUT", path: () => at.cluster, body: {} }],
  [
    "a pool",
    {
      method: "POST",
      path: () => `${at.cluster}/nodepools`,
      body: { ...POOL, name: "more" },
      nodes: [2, 0, 0],
    },
  ],
  [
    "a pool with everything",
    {
      method: "POST",
      path: () => `${at.cluster}/nodepools`,
      body: {
        ...POOL,
        name: "full",
        min_vcpus: 4,
        max_vcpus: 16,
        min_memory_gb: 8,
        max_memory_gb: 32,
        node_labels: { team: "blue" },
        node_taints: [{ key: "gpu", effect: "NoSchedule" }],
        drain_timeout_seconds: 60,
        scale_down_delay_seconds: 90,
        scale_down_utilization_percent: 20,
      },
      nodes: [2, 0, 0],
    },
  ],
  ["more nodes", { method: "PUT", path: () => at.pool, body: { desired_nodes: 5 }, nodes: [3, 0, 0] }],
  ["fewer nodes", { method: "PUT", path: () => at.pool, body: { desired_nodes: 0 }, nodes: [0, 0, 2] }],
  ["another size", { method: "PUT", path: () => at.pool, body: { vcpus: 4, disk_gb: 40 }, nodes: [0, 2, 0] }],
  [
    "another size and more nodes",
    { method: "PUT", path: () => at.pool, body: { memory_gb: 8, desired_nodes: 3 }, nodes: [1, 2, 0] },
  ],
  [
    "autoscaling",
    { method: "PUT", path: () => at.pool, body: { min_vcpus: 8, max_vcpus: 16 }, nodes: [2, 0, 0] },
  ],
  [
    "labels, timeouts and a name",
    {
      method: "PUT",
      path: () => at.pool,
      body: { name: "other", node_labels: { a: "b" }, drain_timeout_seconds: 60 },
    },
  ],
  ["nothing of a pool", { method: "PUT", path: () => at.pool, body: { desired_nodes: 2 } }],
  ["the deletion of a pool", { method: "DELETE", path: () => at.pool, frees: POOL_AMOUNTS }],
  [
    "the deletion of a cluster",
    { method: "DELETE", path: () => at.cluster, frees: { ...POOL_AMOUNTS, clusters: 1 } },
  ],
];

const WIRE: [keyof QuotaAmounts, string][] = [
  ["clusters", "clusters"],
  ["nodePools", "node_pools"],
  ["nodes", "nodes"],
  ["vcpus", "vcpus"],
  ["memoryGB", "memory_gb"],
];

describe("a dry run", () => {
  beforeEach(async () => {
    at = await createDryRunFixture(api);
  });

  test.each(cases)(
    "of %s reports what the real request then does, and changes nothing",
    async (_, { method, path, body, nodes, frees }) => {
      const request: TestRequest = {
        ...(body === undefined ? {} : { body }),
        ...(method === "POST" ? { headers: { "idempotency-key": createId() } } : {}),
      };
      const before = await readTraces(api, at.orgId);
      const usedBefore = await readUse(api.deps.db, at.orgId);
      const dry = await api.request(method, `${path()}?dry_run=true`, request);
      expect([dry.status, dry.body.error]).toEqual([200, undefined]);
      expect(await readTraces(api, at.orgId)).toEqual(before);

      const real = await api.request(method, path(), request);
      const { effects, ...wouldBe } = dry.body;
      const isNew = method === "POST";
      expect(real.status).toBe(method === "PUT" ? 200 : 202);
      expect(real.body).not.toHaveProperty("effects");
      expect(stable(wouldBe, isNew)).toEqual(stable(real.body, isNew));

      // What is being deleted counts until it is deleted: the table has the amount that this frees.
      const usedAfter = await readUse(api.deps.db, at.orgId);
      const usedFinally = (name: keyof QuotaAmounts) =>
        frees === undefined ? usedAfter[name] : usedBefore[name] - frees[name];
      expect(effects.quota.map(({ name }: { name: string }) => name)).toEqual(WIRE.map(([, wire]) => wire));
      for (const [name, wire] of WIRE) {
        const quota = effects.quota.find((entry: { name: string }) => entry.name === wire);
        expect(quota).toMatchObject({
          used: usedBefore[name],
          delta: usedFinally(name) - usedBefore[name],
          projected: usedFinally(name),
        });
      }
      const [nodes_added, nodes_replaced, nodes_removed] = nodes ?? [0, 0, 0];
      expect(effects).toMatchObject({ nodes_added, nodes_replaced, nodes_removed });
    },
  );
});

test("a dry run under a key leaves the key to the real request", async () => {
  at = await createDryRunFixture(api);
  const request = { body: { ...BODY, name: "Keyed" }, headers: { "idempotency-key": createId() } };
  await api.request("POST", `${at.clusters}?dry_run=true`, request);
  const real = await api.request("POST", at.clusters, request);
  expect(real.status).toBe(202);
  expect(real.headers.get("idempotency-replayed")).toBeNull();
  expect((await api.request("POST", at.clusters, request)).body.id).toBe(real.body.id);
});
