import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { FINALIZER } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { author } from "../clusters/create/testing.ts";
import type { Deps } from "../deps.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { type ProjectedCluster, projectObservations } from "../resources/project/index.ts";
import { projected } from "../resources/project/testing.ts";
import { writeIntents } from "../resources/table.ts";
import { requireCluster, writeIntentJobs } from "../resources/write/index.ts";
import { setUpTestClusters } from "../testing/service.ts";
import { createNodePoolBody, toNodePoolSpec } from "./schema.ts";
import { createNodePool } from "./write.ts";

const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

const api = setUpTestClusters();
let n = 0;

const observe = (object: ProjectedCluster, deleted = false) =>
  api.deps.db.transaction((tx) => projectObservations(tx, [{ object, deleted }]));

async function addCluster(): Promise<ProjectedCluster> {
  n += 1;
  const cluster = projected(api.orgId, n);
  await observe(cluster);
  return cluster;
}

const change = (cluster: ProjectedCluster, changed: Partial<ProjectedCluster>) =>
  observe({ ...cluster, ...changed, resourceVersion: cluster.resourceVersion + 1n });

/** As a request does that is about to delete the object, or to create one of a cluster. */
function intend(verb: "create" | "delete", objectId: string, parentId = api.orgId) {
  const kind = verb === "delete" ? "Cluster" : "NodePool";
  const place = { namespace: `org-${api.orgId}`, name: `n-${objectId.slice(-12)}` };
  const row = {
    id: createId(),
    groupId: objectId,
    kind,
    verb,
    orgId: api.orgId,
    objectId,
    parentId,
  } as const;
  const written = { ...place, ...NO_AMOUNTS, requestId: "request", author: {} as never };
  return api.deps.db.insert(writeIntents).values({ ...row, ...written });
}

/** Creates a pool by a request whose body is sent once the server waits for it, after `meanwhile`. */
async function createLate(cluster: ProjectedCluster, query: string, meanwhile: () => Promise<unknown>) {
  const body = new ReadableStream(
    {
      async pull(controller) {
        await meanwhile();
        controller.enqueue(new TextEncoder().encode(JSON.stringify(POOL)));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = {
    authorization: `Bearer ${readStack().tokens.alice}`,
    "content-type": "application/json",
    "transfer-encoding": "chunked",
  };
  const path = `${api.clusters}/${cluster.id}/nodepools${query}`;
  const response = await api.app.request(path, { method: "POST", headers, body, duplex: "half" });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code];
}

describe.each([
  ["", "a node pool"],
  ["?dry_run=true", "a dry run"],
])("%s", (query, noun) => {
  test.each([
    ["is deleted", 404, "not_found", (cluster: ProjectedCluster) => observe(cluster, true)],
    [
      "begins to be deleted",
      409,
      "conflict",
      (cluster: ProjectedCluster) => change(cluster, { status: "deleting" }),
    ],
    ["is about to be deleted", 409, "conflict", (cluster: ProjectedCluster) => intend("delete", cluster.id)],
    [
      "is suspended",
      409,
      "conflict",
      ({ object, ...cluster }: ProjectedCluster) =>
        change({ object, ...cluster }, { object: { ...object, spec: { ...object.spec, suspend: true } } }),
    ],
  ])(`${noun} of a cluster that %s while the body arrives is %i %s`, async (_what, status, code, end) => {
    const cluster = await addCluster();
    expect(await createLate(cluster, query, () => end(cluster))).toEqual([status, code]);
    const isOfCluster = and(eq(writeIntents.parentId, cluster.id), eq(writeIntents.verb, "create"));
    expect(await api.deps.db.select().from(writeIntents).where(isOfCluster)).toEqual([]);
  });
});

test("a create that was begun does not go on once its cluster is deleted", async () => {
  const cluster = await addCluster();
  // As an attempt leaves it that ended before its object was written.
  const id = createId();
  await intend("create", id, cluster.id);
  await observe(cluster, true);
  const pool = {
    id,
    objectName: "general",
    spec: toNodePoolSpec(createNodePoolBody.parse(POOL), cluster.name),
  };
  await expect(createNodePool(api.deps, asAuthorized(author), cluster, pool)).rejects.toMatchObject({
    code: "not_found",
  });
});

const HELD = "tests.marina.dev/held";

/** A pool to create in a cluster that `end` ends right before the pool is written, and the process after it if it `isKilled`. */
async function createInEnding(
  end: (cluster: ProjectedCluster) => Promise<void>,
  { isKilled = false }: { isKilled?: boolean } = {},
) {
  const body = { name: `Ending ${createId()}`, k8s_version: "1.34", plan: "scale" };
  const { body: made } = await api.request("POST", api.clusters, { body });
  const cluster = await requireCluster(api.deps.db, api.orgId, made.id);
  const { kube } = api.deps;
  let isWritten = false;
  const ending: Deps["kube"] = {
    ...kube,
    async create(...args) {
      await end(cluster);
      const written = await kube.create(...args);
      isWritten = true;
      return written;
    },
    get: (...args) => (isWritten && isKilled ? Promise.reject(new Error("killed")) : kube.get(...args)),
  };
  const id = createId();
  const pool = {
    id,
    objectName: `pool-${id.slice(-5)}`,
    spec: toNodePoolSpec(createNodePoolBody.parse(POOL), cluster.name),
  };
  const created = createNodePool({ ...api.deps, kube: ending }, asAuthorized(author), cluster, pool);
  return { cluster, id, created };
}

async function removeCluster({ namespace, name }: ProjectedCluster): Promise<void> {
  const { kube } = api.deps;
  await kube.delete(clusterKind, namespace, name);
  await waitFor(
    "the cluster to be gone",
    async () => (await kube.get(clusterKind, namespace, name)) === undefined,
  );
}

/** What is left of a pool: whether it stays, its intents, and the results in its audit rows. */
async function readLeft({ cluster, id }: { cluster: ProjectedCluster; id: string }) {
  const { db, kube } = api.deps;
  const pools = await kube.listAll(nodePoolKind, { namespace: cluster.namespace });
  const stays = pools.some((pool) => idOf(pool) === id && pool.metadata.deletionTimestamp === undefined);
  const rows = await db.select().from(auditLog).where(eq(auditLog.targetId, id));
  const intents = await db.$count(writeIntents, eq(writeIntents.objectId, id));
  return { stays, intents, audited: rows.map(({ result }) => result) };
}

describe("a node pool that is written although its cluster has ended since its intent", () => {
  test("of a cluster that is gone is refused with not_found and deleted", async () => {
    const made = await createInEnding(removeCluster);
    await expect(made.created).rejects.toMatchObject({ code: "not_found" });
    expect(await readLeft(made)).toEqual({ stays: false, intents: 0, audited: [] });
  });

  test("of a cluster that is being deleted is refused with conflict and deleted", async () => {
    const { kube } = api.deps;
    const made = await createInEnding(async ({ namespace, name }) => {
      const metadata = { finalizers: [FINALIZER, HELD] };
      await kube.mergePatch(clusterKind, namespace, name, { metadata }, { fieldManager: "test" });
      await kube.delete(clusterKind, namespace, name);
    });
    await expect(made.created).rejects.toMatchObject({ code: "conflict" });
    expect(await readLeft(made)).toEqual({ stays: false, intents: 0, audited: [] });
    const { namespace, name } = made.cluster;
    // The operator takes its own one away meanwhile, which nobody may set again.
    await waitFor("the cluster to be held no more", async () => {
      const { metadata } = (await kube.get(clusterKind, namespace, name)) ?? {};
      const finalizers = metadata?.finalizers?.filter((one) => one !== HELD);
      if (finalizers?.length === metadata?.finalizers?.length) return true;
      const change = { metadata: { resourceVersion: metadata?.resourceVersion, finalizers } };
      const written = kube.mergePatch(clusterKind, namespace, name, change, { fieldManager: "test" });
      return written.then(
        () => true,
        () => false,
      );
    });
  });

  test("by a process that was killed is deleted by the sweep, and audited as failed", async () => {
    const made = await createInEnding(removeCluster, { isKilled: true });
    await expect(made.created).rejects.toThrow("killed");
    expect(await readLeft(made)).toEqual({ stays: true, intents: 1, audited: [] });
    await api.deps
      .sql`update write_intents set started_at = now() - interval '61 seconds' where object_id = ${made.id}`;
    for (const job of writeIntentJobs(api.deps)) await job.run(new AbortController().signal);
    expect(await readLeft(made)).toEqual({ stays: false, intents: 0, audited: ["failed"] });
  });
});
