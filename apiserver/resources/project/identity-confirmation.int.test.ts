import { expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, API_VERSION, LABEL_ID, LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { INDEX_ORGANIZATION, indexByOrganization } from "../../../shared/crd/organization.ts";
import { nodePoolSpec } from "../../../shared/crd/testing.ts";
import type { Namespace } from "../../../shared/kube/core-kinds.ts";
import { createStore } from "../../../shared/kube/store.ts";
import { createId } from "../../../shared/program/id.ts";
import { setUpTestClusters } from "../../testing/service.ts";
import { confirmIdentities, needsConfirmation } from "./identity-confirmation.ts";
import { projectObservations, toProjectedCluster } from "./index.ts";
import { aCluster } from "./testing.ts";

const api = setUpTestClusters();

type Named = Cluster | NodePool;

let created = 0;

/** A cluster that comes with an id; it is in no Kubernetes API. */
function aComing(id: string, annotations: Record<string, string> = {}): Cluster {
  created += 1;
  const cluster = aCluster(api.orgId, created);
  return { ...cluster, metadata: { ...cluster.metadata, labels: { [LABEL_ID]: id }, annotations } };
}

/** A pool in that state. */
function aComingPool(id: string, name?: string): NodePool {
  const { metadata } = aComing(id);
  const named = { ...metadata, ...(name !== undefined && { name }) };
  return { apiVersion: API_VERSION, kind: "NodePool", metadata: named, spec: nodePoolSpec };
}

/** What is written on these objects, which the Kubernetes API has all. */
async function confirm(...objects: Named[]): Promise<(string | undefined)[]> {
  const namespaces = createStore<Namespace>({ [INDEX_ORGANIZATION]: indexByOrganization });
  const caches = { namespaces, clusters: createStore<Cluster>(), nodePools: createStore<NodePool>() };
  const labels = { [LABEL_ORG_ID]: api.orgId };
  namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: { name: `org-${api.orgId}`, labels } });
  for (const object of objects)
    if ("clusterName" in object.spec) caches.nodePools.set(object as NodePool);
    else caches.clusters.set(object as Cluster);
  const written: string[] = [];
  const mergePatch = async (_kind: unknown, _namespace: unknown, _name: unknown, patch: object) => {
    const { metadata } = patch as { metadata: { annotations: Record<string, string> } };
    written.push(metadata.annotations[ANNOTATION_IDENTITY] ?? "");
    return undefined as never;
  };
  const waiting = objects.filter(needsConfirmation);
  await confirmIdentities({ ...api.deps, kube: { ...api.deps.kube, mergePatch } }, caches, waiting);
  return written;
}

/** Writes the record that a cluster has once it is served. */
async function record(cluster: Cluster): Promise<void> {
  const object = toProjectedCluster(cluster, api.orgId);
  if (object === undefined) throw new Error("not projected");
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object }]));
}

test("an object whose id is in no record is new, and the confirmation names the object", async () => {
  const cluster = aComing(createId());
  expect(await confirm(cluster)).toEqual([`new ${cluster.metadata.uid}`]);
});

test("a cluster that comes back is known, and the confirmation names the object that came", async () => {
  const before = aComing(createId());
  await record(before);
  const uid = crypto.randomUUID();
  expect(await confirm({ ...before, metadata: { ...before.metadata, uid } })).toEqual([`known ${uid}`]);
});

test("a pool with the id and the name of a recorded cluster is refused", async () => {
  const id = createId();
  const cluster = aComing(id);
  await record(cluster);
  expect(await confirm(aComingPool(id, cluster.metadata.name))).toEqual(["refused"]);
});

const older = <T extends Named>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, creationTimestamp: "2026-11-20T09:00:00Z" },
});

test.each<[string, (id: string) => [Named, Named]]>([
  ["a cluster and a pool", (id) => [older(aComing(id)), aComingPool(id)]],
  ["two pools", (id) => [older(aComingPool(id)), aComingPool(id)]],
  ["two clusters", (id) => [older(aComing(id)), aComing(id)]],
])("of %s with one id that is in no record the oldest alone is new", async (_, make) => {
  const [first, second] = make(createId());
  const isNew = `new ${first.metadata.uid}`;
  expect(await confirm(first, second)).toEqual([isNew, "refused"]);
  expect(await confirm(second, first)).toEqual(["refused", isNew]);
});

test("an object that was refused, and one of no organization, keep their id from no other", async () => {
  const id = createId();
  const refused = older(aComing(id, { [ANNOTATION_IDENTITY]: "refused" }));
  const stray = older(aComing(id));
  const lost = { ...stray, metadata: { ...stray.metadata, namespace: "lost" } };
  const cluster = aComing(id);
  expect(await confirm(refused, lost, cluster)).toEqual([`new ${cluster.metadata.uid}`]);
});

test("what REST created with an id that a retried request had for long is new, and what comes back of it is known", async () => {
  const cluster = aComing(createId(), { [ANNOTATION_IDENTITY]: "new" });
  await record(cluster);
  const { uid } = cluster.metadata;
  expect(await confirm(cluster)).toEqual([`new ${uid}`]);
  const other = { ...cluster, metadata: { ...cluster.metadata, uid: crypto.randomUUID() } };
  expect(await confirm(other)).toEqual([`known ${other.metadata.uid}`]);
});
