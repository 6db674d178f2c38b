import { and, eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { findCluster, projectObservations } from "../resources/project/index.ts";
import { writeIntents } from "../resources/table.ts";
import { setUpTestClusters } from "../testing/service.ts";

const api = setUpTestClusters();

const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
let count = 0;

/** A body that is accepted. The class of its plan takes no cluster, so no machine is ever created for it. */
function aBody(change: Record<string, unknown> = {}) {
  count += 1;
  return { name: `Cluster ${count}`, k8s_version: "1.34", plan: "scale", ...change };
}

async function create(change: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  return api.request("POST", api.clusters, { body: aBody(change), headers });
}

function listObjects() {
  return api.deps.kube.listAll(clusterKind, { namespace: `org-${api.orgId}` });
}

describe("creating a cluster", () => {
  test("returns 202 with the whole record, and every read returns it at once", async () => {
    const response = await create({
      name: "Prod Eü",
      authorized_cidrs: ["203.0.113.0/24"],
      node_pools: [POOL],
    });
    expect(response.status).toBe(202);
    expect(response.body).toMatchObject({
      org_id: api.orgId,
      name: "Prod Eü",
      status: "provisioning",
      plan: "scale",
      k8s_version: "1.34.2",
      public_endpoint: true,
      generation: 1,
    });
    const path = `${api.clusters}/${response.body.id}`;
    expect(response.headers.get("location")).toBe(path);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    const read = await api.request("GET", path);
    expect(read.body).toEqual(response.body);
    expect(read.headers.get("etag")).toBe(response.headers.get("etag"));
    const again = await api.request("GET", path, {
      headers: { "if-none-match": read.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
    const list = await api.request("GET", `${api.clusters}?name=prod%20E%C3%BC`);
    expect(list.body).toEqual({ items: [response.body], next_cursor: null });
    expect((await api.request("GET", `${api.clusters}?status=running`)).body.items).toEqual([]);
    const network = await api.request("GET", `${path}/network`);
    expect(network.body).toMatchObject({
      cluster_id: response.body.id,
      authorized_cidrs: ["203.0.113.0/24"],
    });
  });

  test("writes one Cluster and its pools, with their ids", async () => {
    const { body } = await create({ node_pools: [POOL, { ...POOL, name: "other" }] });
    const cluster = (await listObjects()).find(
      ({ metadata }) => metadata.labels?.["cloud.marina.dev/id"] === body.id,
    );
    expect(cluster?.metadata.name).toMatch(/^cluster-\d+-[a-z0-9]{5}$/);
    expect(cluster?.metadata.annotations).toHaveProperty(["cloud.marina.dev/request-id"]);
    const pools = await api.deps.kube.listAll(nodePoolKind, { namespace: `org-${api.orgId}` });
    const own = pools.filter(({ spec }) => spec.clusterName === cluster?.metadata.name);
    const read = await api.request("GET", `${api.clusters}/${body.id}/nodepools`);
    expect(new Set(own.map(({ metadata }) => metadata.labels?.["cloud.marina.dev/id"]))).toEqual(
      new Set(read.body.items.map(({ id }: { id: string }) => id)),
    );
  });

  test("under one Idempotency-Key creates one cluster, however many requests at once", async () => {
    const body = aBody({ name: "Once" });
    const headers = { "idempotency-key": createId() };
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => api.request("POST", api.clusters, { body, headers })),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202, 409]));
    const replay = await api.request("POST", api.clusters, { body, headers });
    const created = responses.find(({ status }) => status === 202);
    expect(replay.body).toEqual(created?.body);
    const objects = (await listObjects()).filter(({ spec }) => spec.displayName === "Once");
    expect(objects).toHaveLength(1);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, created?.body.id), eq(auditLog.action, "cluster.create")));
    expect(rows).toHaveLength(1);
  });

  test("with a name that is taken, ignoring case, is 409 and creates nothing", async () => {
    await create({ name: "Taken" });
    const before = (await listObjects()).length;
    const response = await create({ name: "tAKEN" });
    expect(response.status).toBe(409);
    expect(response.body.error).toMatchObject({
      code: "already_exists",
      details: [{ field: "name", code: "duplicate" }],
    });
    expect(await listObjects()).toHaveLength(before);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["no name", { name: undefined }, "name/required"],
    ["a name of 64 characters", { name: "x".repeat(64) }, "name/too_long"],
    ["a version that is none", { k8s_version: "latest" }, "k8s_version/invalid_format"],
    ["a version with a v", { k8s_version: "v1.34" }, "k8s_version/invalid_format"],
    ["a version that the catalogue does not have", { k8s_version: "1.20" }, "k8s_version/invalid_enum"],
    ["a plan that is not sold", { plan: "gold" }, "plan/invalid_enum"],
    ["a wrong type", { public_endpoint: "yes" }, "public_endpoint/invalid_type"],
    ["a bare address", { authorized_cidrs: ["203.0.113.7"] }, "authorized_cidrs/invalid_cidr"],
    ["an unknown field", { region: "x" }, "region/unknown_field"],
    ["a pool out of bounds", { node_pools: [{ ...POOL, vcpus: 129 }] }, "node_pools[0].vcpus/out_of_range"],
    [
      "a pool that breaks a rule",
      { node_pools: [{ ...POOL, max_nodes: 0 }] },
      "node_pools[0].desired_nodes/desired_gt_max",
    ],
  ])("with %s is 422 and names the field", async (_, change, fault) => {
    const response = await create(change);
    expect(response.status).toBe(422);
    expect(response.body.error.code).toBe("validation_failed");
    expect(response.body.error.message.startsWith(fault)).toBe(true);
  });

  test("needs the permission of every part of the body", async () => {
    await api.addMember(api.orgId, "bob", "viewer");
    const response = await api.request("POST", api.clusters, { as: "bob", body: aBody() });
    expect(response.status).toBe(403);
  });

  test("is 404 for users of other organizations", async () => {
    expect((await api.request("GET", api.clusters, { as: "staff" })).status).toBe(404);
    const other = await api.createOrganization();
    const { body } = await create();
    expect((await api.request("GET", `/api/v1/organizations/${other}/clusters/${body.id}`)).status).toBe(404);
  });
});

describe("updating a cluster", () => {
  test("renames it, and frees the old name", async () => {
    const { body } = await create({ name: "Old name" });
    const path = `${api.clusters}/${body.id}`;
    const response = await api.request("PUT", path, { body: { name: "New name" } });
    expect(response.status).toBe(200);
    expect(response.body.name).toBe("New name");
    expect((await api.request("GET", path)).body.name).toBe("New name");
    expect((await create({ name: "new NAME" })).body.error.code).toBe("already_exists");
    expect((await create({ name: "old name" })).status).toBe(202);
  });

  test("with what GET returned changes nothing", async () => {
    const { body } = await create();
    const path = `${api.clusters}/${body.id}`;
    const { body: record } = await api.request("GET", path);
    const response = await api.request("PUT", path, { body: record });
    expect(response.status).toBe(200);
    expect(response.body.generation).toBe(record.generation);
  });

  test.each<[string, Record<string, unknown>, number, string]>([
    ["another public_endpoint", { public_endpoint: false }, 422, "public_endpoint/immutable"],
    ["a plan", { plan: null }, 422, "plan/immutable"],
    ["an unknown field", { version: "1.35" }, 422, "version/unknown_field"],
    [
      "a new version while it does not run",
      { k8s_version: "1.35" },
      409,
      "An upgrade needs a running cluster",
    ],
  ])("with %s is refused", async (_, change, status, message) => {
    const { body } = await create();
    const response = await api.request("PUT", `${api.clusters}/${body.id}`, { body: change });
    expect(response.status).toBe(status);
    expect(response.body.error.message.startsWith(message)).toBe(true);
  });
});

describe("deleting a cluster", () => {
  test("returns 202 with status deleting, again when repeated, until it is deleted", async () => {
    const { body } = await create();
    const path = `${api.clusters}/${body.id}`;
    const response = await api.request("DELETE", path);
    expect(response.status).toBe(202);
    expect(response.body).toMatchObject({ id: body.id, status: "deleting" });
    const next = await api.request("DELETE", path);
    expect([202, 404]).toContain(next.status);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, body.id), eq(auditLog.action, "cluster.delete")));
    expect(rows).toHaveLength(1);
  });
});

describe("the kubeconfig", () => {
  test("is 409 until the cluster has been running once, then the operator's, as a file that is not cached", async () => {
    const { body } = await create({ name: "Zürich 日本" });
    const path = `${api.clusters}/${body.id}/kubeconfig`;
    const early = await api.request("GET", path);
    expect(early.status).toBe(409);
    expect(early.body.error.code).toBe("cluster_not_ready");

    const { name, namespace } = await makeReady(body.id);
    await api.deps.kube.create(
      secretKind,
      {
        metadata: { namespace, name: nameAdminSecret(name) },
        data: { value: Buffer.from("apiVersion: v1\n").toString("base64") },
      },
      { fieldManager: "test" },
    );
    const response = await api.request("GET", path);
    expect(response.status).toBe(200);
    expect(response.body).toBe("apiVersion: v1\n");
    expect(response.headers.get("content-type")).toBe("application/yaml");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-disposition")).toBe(
      "attachment; filename=\"Z?rich-??-kubeconfig.yaml\"; filename*=UTF-8''Z%C3%BCrich-%E6%97%A5%E6%9C%AC-kubeconfig.yaml",
    );
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, body.id), eq(auditLog.action, "cluster.kubeconfig")));
    expect(rows).toHaveLength(1);
  });
});

/** Projects the cluster as ready, as after a report of the operator. */
async function makeReady(clusterId: string) {
  const { db } = api.deps;
  const cluster = await findCluster(db, api.orgId, clusterId);
  if (cluster === undefined) throw new Error("no cluster");
  const status = { phase: "Ready" as const, firstReadyAt: new Date().toISOString() };
  const ready = {
    ...cluster,
    status: "running" as const,
    resourceVersion: cluster.resourceVersion + 1n,
    object: { ...cluster.object, status },
  };
  await db.transaction((tx) => projectObservations(tx, [{ object: ready }]));
  return cluster;
}

test("a list is paged by id, and stays complete when clusters are created and deleted", async () => {
  const org = await api.createOrganization();
  const path = `/api/v1/organizations/${org}/clusters`;
  for (const name of ["a", "b", "c"]) await api.request("POST", path, { body: aBody({ name }) });
  const first = await api.request("GET", `${path}?limit=2`);
  expect(first.body.items).toHaveLength(2);
  const second = await api.request("GET", `${path}?limit=2&cursor=${first.body.next_cursor}`);
  expect(second.body.items).toHaveLength(1);
  expect(second.body.next_cursor).toBeNull();
  for (const query of ["limit=0", "limit=101", "cursor=x", "status=gone", "colour=red"])
    expect([query, (await api.request("GET", `${path}?${query}`)).status]).toEqual([query, 400]);
});

test("no intent is left pending", async () => {
  const rows = await api.deps.db
    .select({ n: sql`count(*)` })
    .from(writeIntents)
    .where(eq(writeIntents.verb, "create"));
  expect(rows).toEqual([{ n: "0" }]);
});
