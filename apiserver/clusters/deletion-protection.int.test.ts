import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { auditLog } from "../audit/table.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { deleteNodePool } from "../node-pools/write.ts";
import { requireCluster, requireNodePool } from "../resources/write/index.ts";
import { setUpTestClusters } from "../testing/service.ts";
import { author } from "./create/testing.ts";
import { deleteCluster } from "./write.ts";

const api = setUpTestClusters();

const LIFT = "is protected from deletion: set deletion_protection to false first.";
const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
/** Created with a plan whose class takes no cluster, with a pool; both are protected as given. */
async function create(name: string, cluster: boolean, pool: boolean) {
  const body = {
    name,
    k8s_version: "1.34",
    plan: "scale",
    deletion_protection: cluster,
    node_pools: [{ ...POOL, deletion_protection: pool }],
  };
  const { status, body: record } = await api.request("POST", api.clusters, { body });
  expect([status, record.deletion_protection]).toEqual([202, cluster]);
  const path = `${api.clusters}/${record.id}`;
  const [made] = (await api.request("GET", `${path}/nodepools`)).body.items;
  expect(made.deletion_protection).toBe(pool);
  return { id: record.id, path, poolId: made.id, pool: `${path}/nodepools/${made.id}` };
}

const protect = async (path: string, value: boolean) => {
  const { status, body } = await api.request("PUT", path, { body: { deletion_protection: value } });
  expect([status, body.deletion_protection]).toEqual([200, value]);
};

async function expectRefused(path: string, sentence: string) {
  for (const query of ["", "?dry_run=true"]) {
    const { status, body } = await api.request("DELETE", `${path}${query}`);
    expect([status, body.error.code, body.error.message]).toEqual([409, "deletion_protected", sentence]);
  }
}

test("a protected cluster and a protected pool are deleted once the protection is lifted", async () => {
  const { id, path, pool } = await create("Shop", true, true);
  await expectRefused(path, `The cluster Shop ${LIFT}`);
  await expectRefused(pool, `The node pool web ${LIFT}`);
  await protect(pool, false);
  expect((await api.request("DELETE", `${pool}?dry_run=true`)).status).toBe(200);
  await protect(path, false);
  const isUpdate = and(eq(auditLog.targetId, id), eq(auditLog.action, "cluster.update"));
  const [row] = await api.deps.db.select().from(auditLog).where(isUpdate);
  expect(row).toMatchObject({
    before: { deletion_protection: true },
    after: { deletion_protection: false },
  });
  expect((await api.request("DELETE", path)).status).toBe(202);
});

test("a protected pool goes with its cluster, of which the dry run warns", async () => {
  const { path, pool } = await create("Whole", false, true);
  const { status, body } = await api.request("DELETE", `${path}?dry_run=true`);
  expect([status, body.effects.warnings]).toMatchObject([
    200,
    [{ field: "deletion_protection", code: "deletion_protected" }],
  ]);
  expect(body.effects.warnings[0].message).toContain("web");
  expect((await api.request("GET", pool)).body.deletion_protection).toBe(true);
});

test("the protection of a suspended cluster is lifted by REST, which may delete it", async () => {
  const { id, path } = await create("Resting", true, false);
  const { namespace, name } = await requireCluster(api.deps.db, api.orgId, id);
  const suspended = { spec: { suspend: true } };
  await api.deps.kube.mergePatch(clusterKind, namespace, name, suspended, { fieldManager: "kubectl-patch" });
  await expectRefused(path, `The cluster Resting ${LIFT}`);
  const renamed = await api.request("PUT", path, { body: { name: "Awake", deletion_protection: false } });
  expect([renamed.status, renamed.body.error.code]).toEqual([409, "conflict"]);
  await protect(path, false);
  expect((await api.request("DELETE", path)).status).toBe(202);
});

test("what GET returns may be sent back, and changes nothing", async () => {
  const { path, pool } = await create("Same", false, true);
  for (const record of [path, pool]) {
    const { body } = await api.request("GET", record);
    const { body: same } = await api.request("PUT", record, { body });
    expect([same.generation, same.deletion_protection]).toEqual([body.generation, body.deletion_protection]);
  }
});

test("a protection that another client sets while a deletion is under way holds it back", async () => {
  const { id, poolId } = await create("Raced", false, false);
  const patch = { spec: { deletionProtection: true } };
  /** Protects what is to be deleted just before that is sent. */
  const racing = (kube: KubeClient): KubeClient => ({
    ...kube,
    async delete(kind, namespace, name, options) {
      await api.deps.kube.mergePatch(kind, namespace, name, patch, { fieldManager: "kubectl-patch" });
      await kube.delete(kind, namespace, name, options);
    },
  });
  const deps = { ...api.deps, kube: racing(api.deps.kube) };
  const [cluster, pool] = await Promise.all([
    requireCluster(deps.db, api.orgId, id),
    requireNodePool(deps.db, api.orgId, id, poolId),
  ]);
  const refusal = { code: "deletion_protected" };
  await expect(deleteNodePool(deps, asAuthorized(author), pool)).rejects.toMatchObject(refusal);
  await expect(deleteCluster(deps, asAuthorized(author), cluster)).rejects.toMatchObject(refusal);
  for (const [kind, { namespace, name }] of [
    [clusterKind, cluster],
    [nodePoolKind, pool],
  ] as const) {
    const live = await api.deps.kube.get<{ metadata: { deletionTimestamp?: string } }>(kind, namespace, name);
    expect(live?.metadata).toBeDefined();
    expect(live?.metadata.deletionTimestamp).toBeUndefined();
  }
});
