import { expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import type { Deps } from "../../deps.ts";
import { findCluster, projectObservations, toProjectedCluster } from "../../resources/project/index.ts";
import { writeIntentJobs } from "../../resources/write/index.ts";
import { setUpTestClusters, waitForFinalizer } from "../../testing/service.ts";
import { expiryJobs } from "./jobs.ts";

const END = new Date(Date.now() + 30 * 24 * 3_600_000);
const AN_HOUR_BEFORE = new Date(END.getTime() - 3_600_000);

const api = setUpTestClusters();

async function run(now: Date, changes: Partial<Deps> = {}): Promise<void> {
  for (const job of expiryJobs({ ...api.deps, now: () => now, ...changes }))
    await job.run(new AbortController().signal);
}

/** Held by the operator, and with its end announced. */
async function createAnnounced(name: string, settings: object = {}): Promise<string> {
  const body = { name, k8s_version: "1.34", plan: "scale", expires_at: END, ...settings };
  const created = await api.request("POST", api.clusters, { body });
  expect(created.status).toBe(202);
  await waitForFinalizer(api, api.orgId, created.body.id);
  await run(AN_HOUR_BEFORE);
  return created.body.id;
}

async function readLive(id: string): Promise<Cluster | undefined> {
  const known = await findCluster(api.deps.db, api.orgId, id);
  return known && api.deps.kube.get<Cluster>(clusterKind, known.namespace, known.name);
}

async function readDeletions(id: string) {
  return api.deps
    .sql`select actor, after from audit_log where target_id = ${id} and action = 'cluster.delete'`;
}

test("a deletion whose process ended before the record is recorded a minute later, by the system and for its end", async () => {
  const id = await createAnnounced("Unrecorded");
  const remove: KubeClient["delete"] = async (...args) => {
    await api.deps.kube.delete(...args);
    throw new Error("the process ends");
  };
  await run(END, { kube: { ...api.deps.kube, delete: remove } });
  const live = await readLive(id);
  const isThere = live !== undefined && live.metadata.deletionTimestamp === undefined;
  const sweepAfter = async (seconds: number) => {
    await api.deps.sql`
      update write_intents set started_at = now() - make_interval(secs => ${seconds}) where object_id = ${id}`;
    for (const job of writeIntentJobs(api.deps)) await job.run(new AbortController().signal);
    return readDeletions(id);
  };
  expect([isThere, await sweepAfter(30)]).toEqual([false, []]);
  expect(await sweepAfter(61)).toMatchObject([
    {
      actor: { kind: "system", name: "expiry" },
      after: { reason: "schedule", expires_at: END.toISOString() },
    },
  ]);
});

test("what kubectl changes is shown and listed once it is projected, and its former end deletes nothing before", async () => {
  const id = await createAnnounced("Behind", { labels: { team: "web" } });
  const { kube } = api.deps;
  const { namespace, name } = (await readLive(id))?.metadata ?? {};
  const spec = { expiresAt: null, labels: { team: "shop" }, deletionProtection: true };
  await kube.mergePatch(clusterKind, namespace, name ?? "", { spec }, { fieldManager: "kubectl-edit" });
  const read = async () => {
    const { body } = await api.request("GET", `${api.clusters}/${id}`);
    const listed = await api.request("GET", `${api.clusters}?labels=team%3Dshop`);
    const isListed = listed.body.items.some((one: { id: string }) => one.id === id);
    return [body.expires_at, body.labels.team, body.deletion_protection_state, isListed];
  };
  expect(await read()).toEqual([END.toISOString(), "web", "off", false]);
  await run(END);
  const live = await readLive(id);
  expect([live?.metadata.deletionTimestamp, await readDeletions(id)]).toEqual([undefined, []]);
  const object = live && toProjectedCluster(live, api.orgId);
  if (object === undefined) throw new Error("it has no id");
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object }]));
  expect(await read()).toEqual([null, "shop", "pending", true]);
});
