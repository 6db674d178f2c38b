import { and, eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { findNodePool } from "../resources/project/index.ts";
import { setUpTestClusters } from "../testing/service.ts";

const api = setUpTestClusters();
let clusterId: string;
let pools: string;
let path: string;
let poolId: string;

const POOL = {
  name: "general",
  vcpus: 2,
  memory_gb: 4,
  disk_gb: 20,
  desired_nodes: 2,
  max_nodes: 5,
  node_taints: [{ key: "gpu", effect: "NoSchedule" }],
};

beforeAll(async () => {
  // The stack refuses the clusters of this plan: it is never created, its pools are only written.
  const body = { name: "first", k8s_version: "1.34", plan: "scale" };
  clusterId = (await api.request("POST", api.clusters, { body })).body.id;
  pools = `${api.clusters}/${clusterId}/nodepools`;
});

beforeEach(async () => {
  const response = await api.request("POST", pools, {
    body: { ...POOL, name: `pool-${createId().slice(-12)}` },
  });
  poolId = response.body.id;
  path = `${pools}/${poolId}`;
});

async function readObject() {
  const pool = await findNodePool(api.deps.db, api.orgId, clusterId, poolId);
  if (pool === undefined) throw new Error("no pool");
  const object = await api.deps.kube.get(nodePoolKind, pool.namespace, pool.name);
  if (object === undefined) throw new Error("no object");
  return object;
}

describe("creating a node pool", () => {
  test("responds with 202 and the whole record; omitted settings stay absent", async () => {
    const response = await api.request("POST", pools, { body: { ...POOL, name: "other" } });
    expect(response.status).toBe(202);
    expect(response.headers.get("location")).toBe(`${pools}/${response.body.id}`);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(response.body).toMatchObject({ ...POOL, name: "other", min_nodes: 2, status: "provisioning" });
    expect(response.body).not.toHaveProperty("drain_timeout_seconds");
    const read = await api.request("GET", `${pools}/${response.body.id}`);
    expect(read.body).toEqual(response.body);
  });

  test("under one Idempotency-Key creates one pool", async () => {
    const request = { body: { ...POOL, name: "once" }, headers: { "idempotency-key": createId() } };
    const first = await api.request("POST", pools, request);
    const second = await api.request("POST", pools, request);
    expect(second.status).toBe(202);
    expect(second.body).toEqual(first.body);
  });

  test("with a name that is taken is 422 name/duplicate", async () => {
    await api.request("POST", pools, { body: { ...POOL, name: "taken" } });
    const response = await api.request("POST", pools, { body: { ...POOL, name: "TAKEN" } });
    expect([response.status, response.body.error.details]).toEqual([
      422,
      [{ field: "name", code: "duplicate", message: expect.stringContaining("is taken") }],
    ]);
    const { body: other } = await api.request("POST", pools, { body: { ...POOL, name: "renamed" } });
    const renamed = await api.request("PUT", `${pools}/${other.id}`, { body: { name: "Taken" } });
    expect(renamed.body.error.message).toMatch(/^name\/duplicate: is taken/);
  });

  test("with a name that is taken is 422 for more at once than there are connections to Postgres", async () => {
    const create = () => api.request("POST", pools, { body: { ...POOL, name: "crowded" } });
    expect((await create()).status).toBe(202);
    const responses = await Promise.all(Array.from({ length: 25 }, create));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 422));
  });

  test("in a cluster that does not exist is 404, before the body is looked at", async () => {
    const missing = pools.replace(clusterId, createId());
    expect((await api.request("POST", missing, { rawBody: "{" })).status).toBe(404);
  });
});

test("listing node pools is paged, in the order of creation, each pool once", async () => {
  const { body: cluster } = await api.request("POST", api.clusters, {
    body: { name: "listed", k8s_version: "1.34", plan: "scale" },
  });
  const list = `${api.clusters}/${cluster.id}/nodepools`;
  const createdIds: string[] = [];
  for (const name of ["c", "a", "e", "b", "d"]) {
    createdIds.push((await api.request("POST", list, { body: { ...POOL, name } })).body.id);
  }
  const seen: string[][] = [];
  for (let next = ""; ; ) {
    const page = await api.request("GET", `${list}?limit=2${next}`);
    seen.push(page.body.items.map(({ id }: { id: string }) => id));
    if (page.body.next_cursor === null) break;
    next = `&cursor=${page.body.next_cursor}`;
  }
  expect(seen).toEqual([createdIds.slice(0, 2), createdIds.slice(2, 4), createdIds.slice(4)]);
});

describe("updating a node pool", () => {
  test("changes what was sent, and nothing else; every read returns it at once", async () => {
    const response = await api.request("PUT", path, {
      body: { desired_nodes: 3, node_labels: { team: "blue" } },
    });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      desired_nodes: 3,
      node_labels: { team: "blue" },
      max_nodes: 5,
      vcpus: 2,
    });
    expect((await api.request("GET", path)).body.desired_nodes).toBe(3);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, poolId), eq(auditLog.action, "node_pool.update")));
    expect(rows).toEqual([
      expect.objectContaining({
        before: { desired_nodes: 2 },
        after: { desired_nodes: 3, node_labels: { team: "blue" } },
      }),
    ]);
  });

  test("with what GET returned changes nothing and writes nothing", async () => {
    const before = await readObject();
    const { body } = await api.request("GET", path);
    const response = await api.request("PUT", path, { body });
    expect(response.status).toBe(200);
    expect((await readObject()).metadata.generation).toBe(before.metadata.generation);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, poolId), eq(auditLog.action, "node_pool.update")));
    expect(rows).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["drain_timeout_seconds 0", { drain_timeout_seconds: 0 }, "drain_timeout_seconds/out_of_range"],
    ["vcpus 129", { vcpus: 129 }, "vcpus/out_of_range"],
    ["min_nodes above desired_nodes", { min_nodes: 3 }, "min_nodes/min_gt_desired"],
    ["desired_nodes above max_nodes", { desired_nodes: 6 }, "desired_nodes/desired_gt_max"],
    ["another id", { id: createId() }, "id/immutable"],
    ["other taints", { node_taints: [] }, "node_taints/immutable"],
    ["an unknown field", { size: 1 }, "size/unknown_field"],
    ["a wrong type", { vcpus: "2" }, "vcpus/invalid_type"],
  ])("with %s is 422 and names the field", async (_, body, fault) => {
    const response = await api.request("PUT", path, { body });
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(fault)).toBe(true);
  });

  test.each<[string, { rawBody: string; headers?: Record<string, string> }, number]>([
    ["no JSON", { rawBody: "{", headers: { "content-type": "application/json" } }, 400],
    ["no body", { rawBody: "", headers: { "content-type": "application/json" } }, 400],
    ["another media type", { rawBody: "{}", headers: { "content-type": "text/plain" } }, 415],
  ])("with %s is refused", async (_, request, status) => {
    expect((await api.request("PUT", path, request)).status).toBe(status);
  });

  test("under If-Match is refused once another request changed a setting, and only then", async () => {
    const { headers } = await api.request("GET", path);
    const match = { "if-match": headers.get("etag") ?? "" };
    expect((await api.request("PUT", path, { body: { max_nodes: 6 }, headers: match })).status).toBe(200);
    const late = await api.request("PUT", path, { body: { max_nodes: 7 }, headers: match });
    expect(late.status).toBe(412);
    expect(late.body.error.code).toBe("precondition_failed");
    expect((await api.request("GET", path)).body.max_nodes).toBe(6);
  });

  test("by many at once loses no change", async () => {
    const labels = { team: "blue" };
    const responses = await Promise.all([
      api.request("PUT", path, { body: { max_nodes: 9 } }),
      api.request("PUT", path, { body: { disk_gb: 40 } }),
      api.request("PUT", path, { body: { node_labels: labels } }),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await api.request("GET", path)).body).toMatchObject({
      max_nodes: 9,
      disk_gb: 40,
      node_labels: labels,
    });
  });

  test("counts what kubectl changed a moment ago, observed or not", async () => {
    const { namespace, name } = (await readObject()).metadata;
    const edit = { spec: { desiredNodes: 4 } };
    await api.deps.kube.mergePatch(nodePoolKind, namespace, name, edit, { fieldManager: "kubectl-edit" });
    expect((await api.request("PUT", path, { body: { max_nodes: 3 } })).status).toBe(422);
    const response = await api.request("PUT", path, { body: { max_nodes: 4 } });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ desired_nodes: 4, max_nodes: 4 });
  });

  test("back to what was before a change by kubectl is a change", async () => {
    const { namespace, name } = (await readObject()).metadata;
    const edit = { spec: { desiredNodes: 4 } };
    await api.deps.kube.mergePatch(nodePoolKind, namespace, name, edit, { fieldManager: "kubectl-edit" });
    expect((await api.request("PUT", path, { body: { desired_nodes: 2 } })).body.desired_nodes).toBe(2);
    expect((await readObject()).spec.desiredNodes).toBe(2);
  });

  test("of a field that GitOps applies is 409 and names its manager; other fields are free", async () => {
    const { metadata, spec } = await readObject();
    const { name, namespace } = metadata;
    await api.deps.kube.apply(
      nodePoolKind,
      { metadata: { name, namespace: namespace ?? "" }, spec: { desiredNodes: spec.desiredNodes } },
      { fieldManager: "argocd", force: true },
    );
    const response = await api.request("PUT", path, { body: { desired_nodes: 3 } });
    expect(response.status).toBe(409);
    expect(response.body.error.code).toBe("managed_elsewhere");
    expect(response.body.error.message).toContain("argocd");
    expect((await api.request("PUT", path, { body: { max_nodes: 6 } })).status).toBe(200);
  });

  test("of a pool that is deleted between the read and the write is repeated, and is 404 then", async () => {
    const { kube } = api.deps;
    let patches = 0;
    let deleted: string | undefined;
    // As if the operator removed its finalizer at once.
    const get: typeof kube.get = async (kind, namespace, name, ...options) =>
      name === deleted ? undefined : kube.get(kind, namespace, name, ...options);
    const jsonPatch: typeof kube.jsonPatch = async (_, namespace, name) => {
      patches += 1;
      await kube.delete(nodePoolKind, namespace, name);
      deleted = name;
      throw new KubeError({ status: 404, reason: "NotFound", kubeMessage: "not found", details: { name } });
    };
    api.deps.kube = { ...kube, get, jsonPatch };
    onTestFinished(() => {
      api.deps.kube = kube;
    });
    const { status, body } = await api.request("PUT", path, { body: { max_nodes: 6 } });
    expect([status, body.error.code, patches]).toEqual([404, "not_found", 1]);
  });

  test("to a new name frees the old one", async () => {
    const suffix = createId().slice(-12);
    const [old, next] = [`old-${suffix}`, `next-${suffix}`];
    expect((await api.request("PUT", path, { body: { name: old } })).status).toBe(200);
    expect((await api.request("PUT", path, { body: { name: next } })).status).toBe(200);
    expect((await api.request("POST", pools, { body: { ...POOL, name: next } })).status).toBe(422);
    expect((await api.request("POST", pools, { body: { ...POOL, name: old } })).status).toBe(202);
  });
});

test("deleting a node pool returns 202 with status deleting; then it is gone", async () => {
  const response = await api.request("DELETE", path);
  expect(response.status).toBe(202);
  expect(response.body).toMatchObject({ id: poolId, status: "deleting" });
  await expect.poll(async () => (await api.request("DELETE", path)).status, { interval: 250 }).toBe(404);
  expect((await api.request("GET", path)).status).toBe(404);
});

test("a member without the permission reads but does not write", async () => {
  await api.addMember(api.orgId, "bob", "billing");
  expect((await api.request("GET", path, { as: "bob" })).status).toBe(200);
  expect((await api.request("PUT", path, { as: "bob", body: { vcpus: 4 } })).status).toBe(403);
  expect((await api.request("DELETE", path, { as: "bob" })).status).toBe(403);
});
