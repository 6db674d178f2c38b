import { and, eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { findCondition } from "../../../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { createKeyedSlots } from "../../../shared/program/limits.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { auditLog } from "../../audit/table.ts";
import type { Deps } from "../../deps.ts";
import { feedEvents } from "../../events/table.ts";
import { ApiError } from "../../http/errors.ts";
import { findCluster, projectObservations, toProjectedCluster } from "../../resources/project/index.ts";
import { writeIntents } from "../../resources/table.ts";
import { setUpTestClusters, waitForFinalizer } from "../../testing/service.ts";
import { expiryJobs } from "./jobs.ts";

const HOUR_MS = 3_600_000;
const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

const api = setUpTestClusters();
let end: Date;
beforeEach(() => {
  end = new Date(Date.now() + 30 * 24 * HOUR_MS);
});

const hoursBefore = (hours: number) => new Date(end.getTime() - hours * HOUR_MS);

/** A run of the job in a replica of its own. */
async function run(now: Date, changes: Partial<Deps> = {}): Promise<void> {
  const deps = { ...api.deps, writeLocks: createKeyedSlots(1), now: () => now, ...changes };
  for (const job of expiryJobs(deps)) await job.run(new AbortController().signal);
}

/** Created with a plan whose class takes no cluster, and held by the operator. */
async function create(name: string, settings: object = {}, pool: object = {}) {
  const body = { name, k8s_version: "1.34", plan: "scale", ...settings, node_pools: [{ ...POOL, ...pool }] };
  const { status, body: record } = await api.request("POST", api.clusters, { body });
  expect(status).toBe(202);
  await waitForFinalizer(api, api.orgId, record.id);
  const path = `${api.clusters}/${record.id}`;
  const [made] = (await api.request("GET", `${path}/nodepools`)).body.items;
  return { id: record.id as string, path, record, pool: `${path}/nodepools/${made.id}`, poolRecord: made };
}

const readNotices = async (clusterId: string) => {
  const ofCluster = and(eq(feedEvents.clusterId, clusterId), eq(feedEvents.kind, "system-event"));
  const rows = await api.deps.db.select().from(feedEvents).where(ofCluster).orderBy(feedEvents.id);
  return rows.filter(({ payload }) => "reason" in payload && payload.reason === "Expiring");
};

/** As kubectl sets it, which takes any time. */
async function setEnd(id: string, expiresAt: Date): Promise<void> {
  const { kube, db } = api.deps;
  const known = await findCluster(db, api.orgId, id);
  if (known === undefined) throw new Error("it is not served");
  const spec = { expiresAt: expiresAt.toISOString() };
  const options = { fieldManager: "kubectl-patch" };
  await kube.mergePatch<Cluster>(clusterKind, known.namespace, known.name, { spec }, options);
  await project(await kube.get<Cluster>(clusterKind, known.namespace, known.name));
}

async function project(live: Cluster | undefined): Promise<string> {
  const object = live && toProjectedCluster(live, api.orgId);
  if (object === undefined) throw new Error("it has no id");
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object }]));
  return object.id;
}

const readDeletions = (targetId: string, action = "cluster.delete") =>
  api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.targetId, targetId), eq(auditLog.action, action)));

/** Whether the Kubernetes API has it, not being deleted. */
async function isThere(id: string): Promise<boolean> {
  const known = await findCluster(api.deps.db, api.orgId, id);
  if (known === undefined) return false;
  const live = await api.deps.kube.get<Cluster>(clusterKind, known.namespace, known.name);
  return live !== undefined && live.metadata.deletionTimestamp === undefined;
}

test("an end date is created, repeated, moved and removed by REST, and a past one is refused", async () => {
  const { path, record, pool, poolRecord } = await create("Dated", { expires_at: end }, { expires_at: end });
  expect([record.expires_at, poolRecord.expires_at]).toEqual([end.toISOString(), end.toISOString()]);
  const sameEnd = `${new Date(end.getTime() + HOUR_MS).toISOString().slice(0, -1)}+01:00`;
  for (const one of [path, pool]) {
    const { body: current } = await api.request("GET", one);
    for (const body of [current, { expires_at: sameEnd }]) {
      const { body: same } = await api.request("PUT", one, { body });
      expect([same.generation, same.expires_at]).toEqual([current.generation, end.toISOString()]);
    }
    const past = await api.request("PUT", one, { body: { expires_at: "2020-01-01T00:00:00Z" } });
    expect([past.status, past.body.error?.details]).toEqual([
      422,
      [{ field: "expires_at", code: "out_of_range", message: "must be in the future" }],
    ]);
    for (const expires_at of [hoursBefore(-1).toISOString(), null])
      expect((await api.request("PUT", one, { body: { expires_at } })).body.expires_at).toBe(expires_at);
  }
  const ended = { expires_at: "2020-01-01T00:00:00Z" };
  const body = { name: "Past", k8s_version: "1.34", ...ended, node_pools: [{ ...POOL, ...ended }] };
  const refused = await api.request("POST", api.clusters, { body });
  const fields = refused.body.error.details.map(({ field }: { field: string }) => field);
  expect([refused.status, fields]).toEqual([422, ["expires_at", "node_pools[0].expires_at"]]);
});

test("at its end a cluster or a pool is deleted as DELETE does, by the system, and nothing else is", async () => {
  const due = await create("Due", { expires_at: end });
  const { id: stays, pool, poolRecord } = await create("Stays", {}, { expires_at: end });
  const others = [
    await create("Endless"),
    await create("Protected", { expires_at: end, deletion_protection: true }),
    await create("Later", { expires_at: hoursBefore(-2) }),
  ];
  await run(new Date(end.getTime() - 1));
  const early = await api.request("GET", pool);
  expect([await isThere(due.id), early.body.status !== "deleting"]).toEqual([true, true]);
  await run(hoursBefore(-1));
  const { body } = await api.request("GET", pool);
  expect([await isThere(due.id), body.status ?? "deleting"]).toEqual([false, "deleting"]);
  expect(await readDeletions(poolRecord.id, "node_pool.delete")).toHaveLength(1);
  expect(await readDeletions(due.id)).toMatchObject([
    {
      actor: { kind: "system", name: "expiry" },
      before: { name: "Due" },
      after: { reason: "schedule", expires_at: end.toISOString() },
      requestId: null,
    },
  ]);
  for (const id of [stays, ...others.map((other) => other.id)])
    expect([id, await isThere(id), await readDeletions(id)]).toEqual([id, true, []]);
});

test("replicas that delete at the same time write one audit row", async () => {
  const { id } = await create("Twice", { expires_at: end });
  await run(hoursBefore(1));
  await Promise.all([1, 2, 3].map(() => run(hoursBefore(-1))));
  expect([await isThere(id), (await readDeletions(id)).length]).toEqual([false, 1]);
});

test.each<[string, object]>([
  ["a protection", { deletionProtection: true }],
  ["a later end", { expiresAt: "2099-01-01T00:00:00Z" }],
  ["the removal of the end", { expiresAt: null }],
])("%s that is set while a deletion is under way holds it back", async (what, spec) => {
  const { id, pool } = await create(`Raced by ${what}`, { expires_at: end }, { expires_at: end });
  await run(hoursBefore(1));
  const racing: KubeClient = {
    ...api.deps.kube,
    async delete(kind, namespace, name, options) {
      await api.deps.kube.mergePatch(kind, namespace, name, { spec }, { fieldManager: "kubectl-patch" });
      await api.deps.kube.delete(kind, namespace, name, options);
    },
  };
  await run(hoursBefore(-1), { kube: racing });
  expect([await isThere(id), await readDeletions(id)]).toEqual([true, []]);
  const poolId = pool.split("/").at(-1) ?? "";
  const open = await api.deps.db.select().from(writeIntents).where(eq(writeIntents.orgId, api.orgId));
  expect([await readDeletions(poolId, "node_pool.delete"), open]).toEqual([[], []]);
  const live = await api.deps.kube.listAll<NodePool>(nodePoolKind, { namespace: `org-${api.orgId}` });
  const own = live.find(({ metadata }) => metadata.labels?.["cloud.marina.dev/id"] === poolId);
  expect([own === undefined, own?.metadata.deletionTimestamp]).toEqual([false, undefined]);
});

test("notices come once each, over runs, replicas and a clock that is set back, and anew for another end", async () => {
  const { id, path } = await create("Noticed", { expires_at: end });
  const count = async () => (await readNotices(id)).length;
  await run(hoursBefore(7 * 24 + 1));
  expect(await count()).toBe(0);
  await Promise.all([1, 2, 3].map(() => run(hoursBefore(7 * 24 - 1))));
  await run(hoursBefore(25));
  expect(await count()).toBe(1);
  for (const hours of [24, 5, 1, 0.5, 24, 100]) await run(hoursBefore(hours));
  expect(await count()).toBe(3);
  expect(await isThere(id)).toBe(true);
  end = new Date(end.getTime() + 24 * HOUR_MS);
  await api.request("PUT", path, { body: { expires_at: end } });
  await run(hoursBefore(1));
  expect(await count()).toBe(4);
});

test("a process that ends between a notice and the deletion leaves both to the next one", async () => {
  const { id } = await create("Interrupted", { expires_at: end });
  await run(hoursBefore(1));
  const broken: KubeClient = {
    ...api.deps.kube,
    delete: () => Promise.reject(new Error("the process ends")),
  };
  await run(hoursBefore(-1), { kube: broken });
  expect(await isThere(id)).toBe(true);
  await api.deps.db.delete(writeIntents).where(eq(writeIntents.objectId, id));
  await run(hoursBefore(-1));
  expect([await isThere(id), (await readNotices(id)).length, (await readDeletions(id)).length]).toEqual([
    false,
    1,
    1,
  ]);
});

test("an end that has passed when kubectl sets it is announced once, and deletes what runs an hour later", async () => {
  const { id } = await create("Typo", { expires_at: new Date(end.getTime() + 30 * 24 * HOUR_MS) });
  const other = await create("Typo of an earlier end", { expires_at: end });
  await run(hoursBefore(1));
  await setEnd(id, hoursBefore(48));
  await setEnd(other.id, hoursBefore(72));
  await Promise.all([1, 2, 3].map(() => run(end)));
  for (const one of [id, other.id]) {
    expect((await readNotices(one)).at(-1)?.payload).toMatchObject({
      message: expect.stringContaining("is deleted in an hour"),
      firstSeenAt: end.toISOString(),
    });
  }
  await run(hoursBefore(-0.99));
  expect([await isThere(id), await isThere(other.id)]).toEqual([true, true]);
  expect(await readNotices(id)).toHaveLength(1);
  await run(hoursBefore(-1));
  expect([await isThere(id), await isThere(other.id)]).toEqual([false, false]);
  expect((await readDeletions(id)).length).toBe(1);
});

test("an announced end that is moved within the hour keeps the object, and a new one has an hour of its own", async () => {
  const { id } = await create("Moved");
  await setEnd(id, hoursBefore(48));
  await run(end);
  await setEnd(id, hoursBefore(-500));
  await run(hoursBefore(-1));
  expect(await isThere(id)).toBe(true);
  await setEnd(id, hoursBefore(24));
  await run(hoursBefore(-1));
  expect([await isThere(id), (await readNotices(id)).length]).toEqual([true, 2]);
  await run(hoursBefore(-2));
  expect(await isThere(id)).toBe(false);
});

test("an end that is moved to another past time while a deletion is under way is not the announced one", async () => {
  const { id } = await create("Moved meanwhile", { expires_at: end });
  await run(hoursBefore(1));
  const get: KubeClient["get"] = async (kind, namespace, name) => {
    const known = await findCluster(api.deps.db, api.orgId, id);
    if (known?.name === name && kind.kind === clusterKind.kind) await setEnd(id, hoursBefore(24));
    return api.deps.kube.get(kind, namespace, name);
  };
  await run(hoursBefore(-1), { kube: { ...api.deps.kube, get } });
  expect([await isThere(id), await readDeletions(id)]).toEqual([true, []]);
});

test("a deletion that is refused by a change of the object is no error of the service; any other refusal is logged", async () => {
  const { id } = await create("Refused", { expires_at: end });
  await run(hoursBefore(1));
  const logged = async (code: "conflict" | "dependency_unavailable") => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const log = createLogger({ name: "test", level: "error", destination: { write } });
    const refusing = { ...api.deps.kube, delete: () => Promise.reject(new ApiError(code, "refused")) };
    await run(hoursBefore(-1), { kube: refusing, log });
    return lines.filter((line) => line.includes(id));
  };
  expect(await logged("conflict")).toEqual([]);
  expect(await logged("dependency_unavailable")).toEqual([expect.stringContaining("refused")]);
  expect(await isThere(id)).toBe(true);
});

test("what is created in Kubernetes after its end is not made and not deleted, and an offset that is none is refused", async () => {
  await create("Namespace");
  const { kube } = api.deps;
  const namespace = `org-${api.orgId}`;
  const object = (expiresAt: string) => ({
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: { name: "from-git", namespace },
    spec: { version: "1.34", publicEndpoint: true, plan: "scale", expiresAt },
  });
  const flux = { fieldManager: "kustomize-controller" };
  await expect(kube.create(clusterKind, object("2030-01-01T00:00:00+99:00"), flux)).rejects.toThrow(
    "spec.expiresAt",
  );
  await kube.create(clusterKind, object("2020-01-01T00:00:00Z"), flux);
  const seen = await waitFor("the operator to refuse it", async () => {
    const live = await kube.get<Cluster>(clusterKind, namespace, "from-git");
    return findCondition(live?.status?.conditions, "Stalled")?.reason === "Expired" ? live : undefined;
  });
  expect(seen.status?.message).toContain("spec.expiresAt");
  const id = await project(seen);
  for (const hours of [0, 1]) await run(new Date(Date.now() + hours * HOUR_MS));
  expect([await isThere(id), await readNotices(id)]).toEqual([true, []]);
  const { body } = await api.request("GET", `${api.clusters}/${id}`);
  expect([body.status, body.expires_at]).toEqual(["failed", "2020-01-01T00:00:00.000Z"]);
  expect(body.status_message).toContain("expires_at 2020");
});
