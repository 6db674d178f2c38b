import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { QuotaAmounts } from "../../shared/crd/quota.ts";
import { createId } from "../../shared/id.ts";
import { findCluster, findNodePool, projectObservations } from "../projection/index.ts";
import { startTestApp, type TestApp, type TestRequest } from "../testing/app.ts";
import { readUse } from "./store.ts";

let api: TestApp;
let orgId: string;
let clusters: string;
/** A cluster with one pool of 2 nodes. */
let cluster: string;
let pool: string;
const ids = { cluster: "", pool: "" };

beforeAll(async () => {
  api = await startTestApp();
});
afterAll(() => api.close());

const POOL = {
  name: "general",
  vcpus: 2,
  memory_gb: 4,
  disk_gb: 20,
  desired_nodes: 2,
  min_nodes: 0,
  max_nodes: 9,
};
const POOL_AMOUNTS: QuotaAmounts = { clusters: 0, nodePools: 1, nodes: 2, vcpus: 4, memoryGB: 8 };
/** Its plan is one that the stack does not have, so that no machine is ever made for it. */
const BODY = { name: "First", k8s_version: "1.34.2", plan: "scale" };

/** An organization of its own, with a cluster and a pool: where the next request goes. */
async function makeFixture() {
  orgId = await api.createOrganization();
  clusters = `/api/v1/organizations/${orgId}/clusters`;
  const made = await api.request("POST", clusters, { body: { ...BODY, node_pools: [POOL] } });
  ids.cluster = made.body.id;
  cluster = `${clusters}/${ids.cluster}`;
  const pools = await api.request("GET", `${cluster}/nodepools`);
  ids.pool = pools.body.items[0].id;
  pool = `${cluster}/nodepools/${ids.pool}`;
  return { orgId, clusters, cluster, pool };
}

const TABLES = [
  "audit_log",
  "idempotency_keys",
  "cluster_intents",
  "name_reservations",
  "quota_reservations",
  "projected_clusters",
  "projected_node_pools",
  "cluster_records",
  "node_pool_records",
  "transitions",
  "system_events",
];

/** All that a request could leave: every row but for status, which the operator writes, and every specification. */
async function readTraces(): Promise<unknown> {
  const counts = TABLES.map(
    (name) => sql`select ${name} as name, count(*)::int as rows from ${sql.identifier(name)}`,
  );
  const rows = await api.deps.db.execute(sql.join(counts, sql` union all `));
  const namespace = `org-${orgId}`;
  const objects = [
    ...(await api.deps.kube.listAll(clusterKind, { namespace })),
    ...(await api.deps.kube.listAll(nodePoolKind, { namespace })),
  ];
  return {
    rows: [...rows],
    objects: objects.map(({ metadata, spec }) => ({
      uid: metadata.uid,
      generation: metadata.generation,
      deleting: metadata.deletionTimestamp,
      spec,
    })),
  };
}

/** What the operator writes in the background, and what is another in every request. */
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
  // A cluster that cannot be made fails some time after it was accepted.
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
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
  ["a cluster", { method: "POST", path: () => clusters, body: { ...BODY, name: "Second" } }],
  [
    "a cluster with pools",
    {
      method: "POST",
      path: () => clusters,
      body: {
        ...BODY,
        name: "Second",
        authorized_cidrs: ["203.0.113.0/24"],
        node_pools: [POOL, { ...POOL, name: "auto", max_vcpus: 12, max_memory_gb: 24 }],
      },
      nodes: [3, 0, 0],
    },
  ],
  ["another name of a cluster", { method: "PUT", path: () => cluster, body: { name: "Renamed" } }],
  ["nothing of a cluster", { method: "PUT", path: () => cluster, body: {} }],
  [
    "a pool",
    { method: "POST", path: () => `${cluster}/nodepools`, body: { ...POOL, name: "more" }, nodes: [2, 0, 0] },
  ],
  [
    "a pool with everything",
    {
      method: "POST",
      path: () => `${cluster}/nodepools`,
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
  ["more nodes", { method: "PUT", path: () => pool, body: { desired_nodes: 5 }, nodes: [3, 0, 0] }],
  ["fewer nodes", { method: "PUT", path: () => pool, body: { desired_nodes: 0 }, nodes: [0, 0, 2] }],
  ["another size", { method: "PUT", path: () => pool, body: { vcpus: 4, disk_gb: 40 }, nodes: [0, 2, 0] }],
  [
    "another size and more nodes",
    { method: "PUT", path: () => pool, body: { memory_gb: 8, desired_nodes: 3 }, nodes: [1, 2, 0] },
  ],
  [
    "autoscaling",
    { method: "PUT", path: () => pool, body: { min_vcpus: 8, max_vcpus: 16 }, nodes: [2, 0, 0] },
  ],
  [
    "labels, timeouts and a name",
    {
      method: "PUT",
      path: () => pool,
      body: { name: "other", node_labels: { a: "b" }, drain_timeout_seconds: 60 },
    },
  ],
  ["nothing of a pool", { method: "PUT", path: () => pool, body: { desired_nodes: 2 } }],
  ["the deletion of a pool", { method: "DELETE", path: () => pool, frees: POOL_AMOUNTS }],
  [
    "the deletion of a cluster",
    { method: "DELETE", path: () => cluster, frees: { ...POOL_AMOUNTS, clusters: 1 } },
  ],
];

describe("a dry run", () => {
  beforeEach(async () => {
    await makeFixture();
  });

  test.each(cases)(
    "of %s says what the real request then does, and does nothing",
    async (_, { method, path, body, nodes, frees }) => {
      const request: TestRequest = {
        ...(body === undefined ? {} : { body }),
        ...(method === "POST" ? { headers: { "idempotency-key": createId() } } : {}),
      };
      const before = await readTraces();
      const usedBefore = await readUse(api.deps.db, orgId);
      const dry = await api.request(method, `${path()}?dry_run=true`, request);
      expect([dry.status, dry.body.error]).toEqual([200, undefined]);
      expect(await readTraces()).toEqual(before);

      const real = await api.request(method, path(), request);
      const { effects, ...wouldBe } = dry.body;
      const isNew = method === "POST";
      expect(real.status).toBe(method === "PUT" ? 200 : 202);
      expect(real.body).not.toHaveProperty("effects");
      expect(stable(wouldBe, isNew)).toEqual(stable(real.body, isNew));

      // What is being deleted counts until it is gone: the table says what that frees.
      const usedAfter = await readUse(api.deps.db, orgId);
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

const WIRE: [keyof QuotaAmounts, string][] = [
  ["clusters", "clusters"],
  ["nodePools", "node_pools"],
  ["nodes", "nodes"],
  ["vcpus", "vcpus"],
  ["memoryGB", "memory_gb"],
];

interface Refusal {
  method: string;
  path: () => string;
  request?: TestRequest;
  code: string;
  arrange?: () => Promise<unknown>;
}

const limit = (limits: Record<string, number>) => () =>
  api.request("PUT", `/api/v1/admin/organizations/${orgId}/quotas`, { as: "staff", body: limits });

const refusals: [string, Refusal][] = [
  [
    "a bad body",
    { method: "POST", path: () => clusters, request: { body: { name: "" } }, code: "validation_failed" },
  ],
  [
    "an unknown version",
    {
      method: "POST",
      path: () => clusters,
      request: { body: { ...BODY, k8s_version: "1.11" } },
      code: "validation_failed",
    },
  ],
  ["a taken name", { method: "POST", path: () => clusters, request: { body: BODY }, code: "already_exists" }],
  [
    "a malformed key",
    {
      method: "POST",
      path: () => clusters,
      request: { body: { ...BODY, name: "New" }, headers: { "idempotency-key": "two words" } },
      code: "bad_request",
    },
  ],
  [
    "too many clusters",
    {
      method: "POST",
      path: () => clusters,
      request: { body: { ...BODY, name: "New" } },
      code: "quota_exceeded",
      arrange: limit({ clusters: 1 }),
    },
  ],
  [
    "too many nodes",
    {
      method: "PUT",
      path: () => pool,
      request: { body: { desired_nodes: 3 } },
      code: "quota_exceeded",
      arrange: limit({ nodes: 2 }),
    },
  ],
  [
    "a pool's taken name",
    { method: "POST", path: () => `${cluster}/nodepools`, request: { body: POOL }, code: "already_exists" },
  ],
  [
    "a broken rule",
    { method: "PUT", path: () => pool, request: { body: { min_nodes: 5 } }, code: "validation_failed" },
  ],
  [
    "a stale If-Match",
    {
      method: "PUT",
      path: () => pool,
      request: { body: { disk_gb: 30 }, headers: { "if-match": '"77-1"' } },
      code: "precondition_failed",
    },
  ],
  [
    "a field of GitOps",
    {
      method: "PUT",
      path: () => pool,
      request: { body: { desired_nodes: 3 } },
      code: "managed_elsewhere",
      async arrange() {
        const served = await findNodePool(api.deps.db, orgId, ids.cluster, ids.pool);
        const metadata = { name: served?.name ?? "", namespace: `org-${orgId}` };
        const owner = { fieldManager: "flux", force: true };
        await api.deps.kube.apply(nodePoolKind, { metadata, spec: { desiredNodes: 2 } }, owner);
      },
    },
  ],
  [
    "a cluster that does not run",
    {
      method: "POST",
      path: () => `${cluster}/upgrade`,
      request: { body: { target_version: "1.35" } },
      code: "cluster_not_running",
    },
  ],
  [
    "a cluster's name that GitOps applies",
    {
      method: "PUT",
      path: () => cluster,
      request: { body: { name: "New" } },
      code: "managed_elsewhere",
      async arrange() {
        const served = await findCluster(api.deps.db, orgId, ids.cluster);
        const metadata = { name: served?.name ?? "", namespace: `org-${orgId}` };
        const owner = { fieldManager: "argocd", force: true };
        await api.deps.kube.apply(clusterKind, { metadata, spec: { displayName: "First" } }, owner);
      },
    },
  ],
  [
    "a pool of a cluster that is being deleted",
    {
      method: "POST",
      path: () => `${cluster}/nodepools`,
      request: { body: { ...POOL, name: "late" } },
      code: "conflict",
      async arrange() {
        const served = await findCluster(api.deps.db, orgId, ids.cluster);
        if (served === undefined) throw new Error("not served");
        const deleting = {
          ...served,
          status: "deleting" as const,
          resourceVersion: served.resourceVersion + 1_000_000n,
        };
        await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: deleting }]));
      },
    },
  ],
  [
    "a missing pool",
    { method: "DELETE", path: () => `${cluster}/nodepools/${createId()}`, code: "not_found" },
  ],
  [
    "a user of another organization",
    { method: "DELETE", path: () => cluster, request: { as: "bob" }, code: "not_found" },
  ],
];

describe("a dry run refuses", () => {
  // What is refused changes nothing: only what arranges something has a fixture of its own.
  let plain: Awaited<ReturnType<typeof makeFixture>>;
  beforeAll(async () => {
    plain = await makeFixture();
  });

  test.each(refusals)(
    "%s in the very words of the real request",
    async (_, { method, path, request, code, arrange }) => {
      if (arrange === undefined) ({ orgId, clusters, cluster, pool } = plain);
      else await makeFixture();
      await arrange?.();
      const before = await readTraces();
      const dry = await api.request(method, `${path()}?dry_run=true`, request);
      const real = await api.request(method, path(), request);
      expect(real.body.error?.code).toBe(code);
      const withoutId = ({ error }: { error: object }) => ({ ...error, request_id: "" });
      expect([dry.status, withoutId(dry.body)]).toEqual([real.status, withoutId(real.body)]);
      expect(dry.headers.get("retry-after")).toBe(real.headers.get("retry-after"));
      expect(await readTraces()).toEqual(before);
    },
  );

  test("a viewer, like the real request", async () => {
    await makeFixture();
    await api.addMember(orgId, "bob", "viewer");
    const dry = await api.request("DELETE", `${pool}?dry_run=true`, { as: "bob" });
    const real = await api.request("DELETE", pool, { as: "bob" });
    expect([dry.status, dry.body.error.message]).toEqual([403, real.body.error.message]);
  });

  test("any value but true and false", async () => {
    expect((await api.request("DELETE", `${pool}?dry_run=maybe`)).status).toBe(400);
    expect((await api.request("DELETE", `${pool}?dry_run=`)).status).toBe(400);
  });
});

test("a dry run under a key leaves the key to the real request", async () => {
  await makeFixture();
  const request = { body: { ...BODY, name: "Keyed" }, headers: { "idempotency-key": createId() } };
  await api.request("POST", `${clusters}?dry_run=true`, request);
  const real = await api.request("POST", clusters, request);
  expect(real.status).toBe(202);
  expect(real.headers.get("idempotency-replayed")).toBeNull();
  expect((await api.request("POST", clusters, request)).body.id).toBe(real.body.id);
});
