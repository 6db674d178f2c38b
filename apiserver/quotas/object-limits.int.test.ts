import { beforeEach, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { nodePoolSpec } from "../../shared/crd/testing.ts";
import { resourceQuotaKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { applyObjectQuota, hasLimits, OBJECT_QUOTA } from "../organizations/index.ts";
import { findNodePool, projectObservations, toProjectedNodePool } from "../resources/project/index.ts";
import { startTestApp } from "../testing/app.ts";
import { readUse } from "./store.ts";
import { BODY, POOL } from "./testing.ts";

const AS_OPERATOR = { fieldManager: "marina-operator", subresource: "status" } as const;

const api = setUp(startTestApp);
let orgId: string;
let clusters: string;
let count = 0;

beforeEach(async () => {
  orgId = await api.createOrganization();
  clusters = `/api/v1/organizations/${orgId}/clusters`;
});

/** A body whose plan has a class that takes no cluster, so that no machine is ever created for it. */
function aBody(change: Record<string, unknown> = {}) {
  count += 1;
  return { ...BODY, name: `Cluster ${count}`, ...change };
}

async function createCluster(change: Record<string, unknown> = {}): Promise<{ id: string; pools: string }> {
  const response = await api.request("POST", clusters, { body: aBody(change) });
  expect(response.status).toBe(202);
  return { id: response.body.id, pools: `${clusters}/${response.body.id}/nodepools` };
}

function setQuotas(limits: Record<string, number>) {
  return api.request("PUT", `/api/v1/admin/organizations/${orgId}/quotas`, { as: "staff", body: limits });
}

const placeOf = () => ({ namespace: `org-${orgId}`, name: OBJECT_QUOTA });
const countsOf = (clusterCount: number, poolCount: number) => ({
  "count/clusters.cloud.marina.dev": clusterCount,
  "count/nodepools.cloud.marina.dev": poolCount,
});

/** Whether kube-apiserver enforces these limits. */
async function isInForce(counts: Record<string, number>): Promise<boolean> {
  const { namespace, name } = placeOf();
  const quota = await api.deps.kube.get(resourceQuotaKind, namespace, name);
  const hard = quota?.status?.hard;
  return hard !== undefined && hasLimits({ spec: { hard } }, counts);
}

test("the number of objects in a Namespace is limited for kubectl, too: twenty pools where the quota allows none", async () => {
  const { kube } = api.deps;
  await setQuotas({ node_pools: 0 });
  await waitFor("the limit to be in force", () => isInForce(countsOf(220, 20)));
  const create = (name: string) =>
    kube.create(
      nodePoolKind,
      { metadata: { namespace: `org-${orgId}`, name }, spec: nodePoolSpec },
      { fieldManager: "test" },
    );
  await Promise.all(Array.from({ length: 20 }, (_, index) => create(`pool-${index}`)));
  // A job of another test may restore the limit meanwhile, and what was accepted then counts.
  let excess = 0;
  const refusal = await waitFor("one more to be refused", async () => {
    await applyObjectQuota(kube, placeOf(), countsOf(220, 20));
    const error = await create(`excess-${excess}`).catch((thrown: unknown) => thrown);
    if (error instanceof KubeError) return error;
    excess += 1;
    return undefined;
  });
  expect(refusal).toMatchObject({ isQuotaExceeded: true });
  for (let index = 0; index <= excess; index += 1)
    await kube.delete(nodePoolKind, `org-${orgId}`, `pool-${index}`);
  await waitFor("room for another", () => create("one-more").catch(() => undefined));
});

test("a Namespace that is full is 422 quota_exceeded by REST, leaves no reservation, and rises with the quota", async () => {
  const { id, pools } = await createCluster();
  // A job of another test may restore the limit, and what was accepted then is in use.
  const accepted: string[] = [];
  const whileFull = (path: string, body: () => object) =>
    waitFor(`${path} to be refused`, async () => {
      await applyObjectQuota(api.deps.kube, placeOf(), countsOf(1, 0));
      if (!(await isInForce(countsOf(1, 0)))) return undefined;
      const response = await api.request("POST", path, { body: body() });
      if (response.status >= 300) return response;
      if (response.status === 202) accepted.push(path);
      return undefined;
    });
  for (const path of [clusters, `${clusters}?dry_run=true`]) {
    const { status, body } = await whileFull(path, aBody);
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: "quota_exceeded", details: [{ field: "clusters" }] });
  }
  const { status, body } = await whileFull(pools, () => POOL);
  expect(status).toBe(422);
  expect(body.error).toMatchObject({ code: "quota_exceeded", details: [{ field: "node_pools" }] });
  const [ofClusters, ofPools] = [clusters, pools].map(
    (path) => accepted.filter((one) => one === path).length,
  );
  const used = { clusters: 1 + (ofClusters ?? 0), nodePools: ofPools };
  expect(await readUse(api.deps.db, orgId)).toMatchObject(used);
  await setQuotas({ clusters: 3 });
  await waitFor("the new limit to be in force", () => isInForce(countsOf(26, 1020)));
  expect((await createCluster()).id).not.toBe(id);
});

test("machines that a smaller pool still has are in use: it gets no others for them meanwhile", async () => {
  const { id, pools } = await createCluster({ node_pools: [{ ...POOL, desired_nodes: 3, max_nodes: 5 }] });
  await setQuotas({ nodes: 4 });
  const [{ id: poolId }] = (await api.request("GET", pools)).body.items;
  const put = (body: object) => api.request("PUT", `${pools}/${poolId}`, { body });
  expect((await put({ desired_nodes: 0, min_nodes: 0 })).status).toBe(200);
  const listMachines = async (phases: string[]) => {
    const { kube, db } = api.deps;
    const pool = await findNodePool(db, orgId, id, poolId);
    if (pool === undefined) throw new Error("no pool");
    const createdAt = "2026-01-01T00:00:00Z";
    const machines = phases.map((phase, n) => ({
      name: `m${n}`,
      uid: `m${n}`,
      phase,
      ready: true,
      createdAt,
    }));
    await kube.mergePatch(nodePoolKind, pool.namespace, pool.name, { status: { machines } }, AS_OPERATOR);
    await waitFor("the machines", async () => {
      const live = await kube.get(nodePoolKind, pool.namespace, pool.name);
      const object = live && toProjectedNodePool(live, orgId, id);
      if (object !== undefined) await db.transaction((tx) => projectObservations(tx, [{ object }]));
      return (await readUse(db, orgId)).nodes === phases.length;
    });
  };
  await listMachines(["Running", "Deleting", "Deleting", "Deleting"]);
  expect((await put({ desired_nodes: 2 })).body.error).toMatchObject({
    code: "quota_exceeded",
    message: expect.stringContaining("nodes: 4 allowed, 4 in use, 1 more requested"),
  });
  // It keeps the one that runs.
  for (const nodes of [1, 0]) expect((await put({ desired_nodes: nodes })).status).toBe(200);
  await listMachines([]);
  expect((await put({ desired_nodes: 2 })).status).toBe(200);
});
