import { eq } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { Namespace } from "../../../shared/kube/core-kinds.ts";
import { createStore } from "../../../shared/kube/store.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog } from "../../audit/table.ts";
import { setUpTestClusters } from "../../testing/service.ts";
import { createUnauditedVersions } from "./audit-versions.ts";
import { findCluster, projectObservations } from "./index.ts";
import { projectBatch } from "./project-batch.ts";
import { startProjector } from "./projector.ts";
import { projectedClusters, syncPeriods } from "./table.ts";
import { projected, readTransitionTypes } from "./testing.ts";

const api = setUpTestClusters();

/** The audit rows of changes that were not made through REST. */
async function auditOf(id: string) {
  const rows = await api.deps.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.targetId, id))
    .orderBy(auditLog.id);
  return rows.map(({ action, actor, after }) => [
    action,
    actor.kind === "kubernetes" ? actor.manager : "",
    after,
  ]);
}

test.each([
  ["newer than what was stored", 900, { message: "at last" }],
  ["older than what was stored", 1, { message: "stored" }],
])("a deleted object, %s, is kept as it was at last", async (_what, resourceVersion, status) => {
  const before = projected(api.orgId, 50 + resourceVersion);
  const stored = {
    ...before,
    resourceVersion: 500n,
    object: { ...before.object, status: { message: "stored" } },
  };
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: stored }]));
  const metadata = { ...before.object.metadata, resourceVersion: String(resourceVersion) };
  const gone = { ...before.object, metadata, status: { message: "at last" } };
  const caches = {
    namespaces: createStore<Namespace>(),
    clusters: createStore<Cluster>(),
    nodePools: createStore<NodePool>(),
  };
  await projectBatch(api.deps, caches, [{ deleted: gone }], createUnauditedVersions());
  const rows = await api.deps.db
    .select()
    .from(projectedClusters)
    .where(eq(projectedClusters.uid, before.uid));
  expect(rows).toMatchObject([{ deletedAt: expect.any(Date), object: { status } }]);
});

describe("the projector", () => {
  let stop: AbortController | undefined;
  let stopped: Promise<void> | undefined;

  async function start() {
    stop = new AbortController();
    const projector = startProjector(api.deps, stop.signal);
    stopped = projector.stopped;
    await expect.poll(() => projector.synced()).toBe(true);
  }
  afterEach(async () => {
    stop?.abort();
    await stopped;
  });

  const apply = (id: string, owner = api.orgId) => {
    const namespace = `org-${owner}`;
    const labels = { "cloud.marina.dev/id": id };
    return Promise.all([
      api.deps.kube.apply(
        clusterKind,
        {
          metadata: { name: `k-${id.slice(-12)}`, namespace, labels },
          spec: { version: "1.34.2", plan: "scale" },
        },
        { fieldManager: "kubectl" },
      ),
      api.deps.kube.apply(
        nodePoolKind,
        {
          metadata: { name: `p-${id.slice(-12)}`, namespace, labels: { "cloud.marina.dev/id": createId() } },
          spec: {
            clusterName: `k-${id.slice(-12)}`,
            vcpus: 1,
            memoryGB: 1,
            diskGB: 10,
            minNodes: 1,
            maxNodes: 1,
            desiredNodes: 1,
          },
        },
        { fieldManager: "kubectl" },
      ),
    ]);
  };

  test("records in which times it follows the Kubernetes API, each start as another one", async () => {
    const read = () => api.deps.db.select().from(syncPeriods).orderBy(syncPeriods.startedAt);
    // A gap of half a minute makes another one too.
    const startAndRead = async () => {
      const earlier = (await read()).length;
      await start();
      await expect.poll(async () => (await read()).length).toBeGreaterThan(earlier);
    };
    await startAndRead();
    stop?.abort();
    await stopped;
    await startAndRead();
    const [first, second] = (await read()).slice(-2);
    await expect
      .poll(async () => (await read()).at(-1)?.seenAt.getTime())
      .toBeGreaterThan((await read()).at(-1)?.startedAt.getTime() ?? Infinity);
    expect(first?.seenAt.getTime()).toBeLessThan(second?.startedAt.getTime() ?? 0);
  });

  test("serves an object with a NUL in its annotations like any other: Postgres stores none", async () => {
    const id = createId();
    const metadata = {
      name: `nul-${id.slice(-12)}`,
      namespace: `org-${api.orgId}`,
      labels: { "cloud.marina.dev/id": id },
      annotations: { "example.com/note": "before\0after" },
    };
    const spec = { version: "1.34.2", plan: "scale" };
    const kept = await api.deps.kube.apply(clusterKind, { metadata, spec }, { fieldManager: "kubectl" });
    expect(kept.metadata.annotations).toMatchObject({ "example.com/note": "before\0after" });
    await start();
    await expect
      .poll(async () => (await findCluster(api.deps.db, api.orgId, id))?.object.metadata.annotations)
      .toMatchObject({ "example.com/note": "before\uFFFDafter" });
  });

  test("serves what kubectl creates, changes and deletes", async () => {
    await start();
    const id = createId();
    await apply(id);
    const read = () => api.request("GET", `${api.clusters}/${id}`);
    await expect.poll(async () => (await read()).status).toBe(200);
    const pools = () => api.request("GET", `${api.clusters}/${id}/nodepools`);
    await expect.poll(async () => (await pools()).body.items?.length).toBe(1);
    const labels = { "cloud.marina.dev/id": id };
    const place = { name: `k-${id.slice(-12)}`, namespace: `org-${api.orgId}`, labels };
    const spec = { version: "1.34.2", plan: "scale", displayName: "Renamed" };
    await api.deps.kube.apply(clusterKind, { metadata: place, spec }, { fieldManager: "kubectl" });
    await expect.poll(async () => (await read()).body.name).toBe("Renamed");
    expect(await auditOf(id)).toEqual([
      ["cluster.create", "kubectl", { version: "1.34.2", plan: "scale" }],
      ["cluster.update", "kubectl", { displayName: "Renamed" }],
    ]);
    await api.deps.kube.delete(clusterKind, `org-${api.orgId}`, `k-${id.slice(-12)}`);
    await expect.poll(async () => (await read()).status).toBe(404);
    expect(await readTransitionTypes(api.deps.db, id)).toContain("deleted");
  });

  test("counts the transitions that it has not seen while a status listed them", async () => {
    const metric = "marina_apiserver_transitions_missed_total";
    const readMissed = async () => {
      const text = await api.deps.metrics.getSingleMetricAsString(metric);
      return Number(text.trim().split(" ").at(-1));
    };
    await start();
    const id = createId();
    await apply(id);
    await expect.poll(async () => (await api.request("GET", `${api.clusters}/${id}`)).status).toBe(200);
    const before = await readMissed();
    const transitions = [20, 21].map((sequence) => ({
      sequence,
      type: "Degraded" as const,
      at: new Date(Date.UTC(2026, 10, 21, 9, sequence)).toISOString(),
    }));
    const metadata = { name: `k-${id.slice(-12)}`, namespace: `org-${api.orgId}` };
    const options = { fieldManager: "kubectl", subresource: "status" as const };
    // Again and again, for the operator of the stack writes this status, too.
    const auditAfterLateStatus = async () => {
      await api.deps.kube.apply(clusterKind, { metadata, status: { transitions } }, options);
      return auditOf(id);
    };
    await expect
      .poll(auditAfterLateStatus)
      .toContainEqual([
        "cluster.transitions_missed",
        "",
        { firstMissed: expect.any(Number), lastMissed: 19 },
      ]);
    // The metric counts those of every cluster, and is written after the transaction.
    await expect.poll(readMissed).toBeGreaterThanOrEqual(before + 15);
  });

  test("audits what kubectl deletes, once, and not what REST deletes", async () => {
    await start();
    const [byKubectl, byRest] = [createId(), createId()];
    const read = (id: string) => api.request("GET", `${api.clusters}/${id}`);
    for (const id of [byKubectl, byRest]) {
      await apply(id);
      await expect.poll(async () => (await read(id)).status).toBe(200);
    }
    const pool = await waitFor("its pool to be served", async () => {
      const { body } = await api.request("GET", `${api.clusters}/${byKubectl}/nodepools`);
      return body.items[0];
    });
    const place = { namespace: `org-${api.orgId}`, labelSelector: `cloud.marina.dev/id=${pool.id}` };
    const [{ metadata } = { metadata: { name: "" } }] = await api.deps.kube.listAll(nodePoolKind, place);
    await api.deps.kube.delete(nodePoolKind, place.namespace, metadata.name);
    const deletionsOf = async (id: string) =>
      (await auditOf(id))
        .filter(([action]) => action === "cluster.delete" || action === "node_pool.delete")
        .map(([action, manager]) => [action, manager]);
    await expect.poll(() => deletionsOf(pool.id)).toHaveLength(1);
    await api.deps.kube.delete(clusterKind, place.namespace, `k-${byKubectl.slice(-12)}`);
    await api.request("DELETE", `${api.clusters}/${byRest}`);
    for (const id of [byKubectl, byRest]) await expect.poll(async () => (await read(id)).status).toBe(404);
    expect(await deletionsOf(pool.id)).toEqual([["node_pool.delete", "unknown"]]);
    expect(await deletionsOf(byKubectl)).toEqual([["cluster.delete", "unknown"]]);
    expect(await deletionsOf(byRest)).toEqual([["cluster.delete", ""]]);
  });

  test("serves on its start what was created and deleted while it did not run", async () => {
    const gone = projected(api.orgId, 1);
    await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: gone }]));
    const id = createId();
    await apply(id);
    await start();
    expect(await findCluster(api.deps.db, api.orgId, gone.id)).toBeUndefined();
    // One that came with an id is served once its confirmation is given, by this projector or by the stack's.
    await expect
      .poll(async () => (await findCluster(api.deps.db, api.orgId, id))?.displayName)
      .toBe(`k-${id.slice(-12)}`);
  });

  test("writes nothing for objects that did not change", async () => {
    // Rows of other organizations are rebuilt by tests that run meanwhile.
    const owner = await api.createOrganization();
    await apply(createId(), owner);
    await start();
    const readVersions = () => api.deps.sql<{ uid: string; version: string; xmin: string }[]>`
      select uid, resource_version::text as version, xmin::text from projected_clusters
      where org_id = ${owner}`;
    await expect.poll(readVersions).toHaveLength(1);
    stop?.abort();
    await stopped;
    const before = await readVersions();
    await start();
    const after = new Map((await readVersions()).map((row) => [row.uid, row]));
    const rewritten = before.filter(({ uid, version, xmin }) => {
      const now = after.get(uid);
      return now === undefined || (now.version === version && now.xmin !== xmin);
    });
    expect(rewritten).toEqual([]);
  });
});
