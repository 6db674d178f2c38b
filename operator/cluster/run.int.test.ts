import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { asNew } from "../../shared/controller/plan.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type Cluster, type ClusterStatus, clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  API_VERSION,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { configMapKind, secretKind } from "../../shared/kube/core-kinds.ts";
import { apiVersionOf, type Kind, type KubeObject, type OwnerReference } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { capiClusterKind, LABEL_CAPI_CLUSTER } from "../capi/kinds.ts";
import { createTopologyWrites } from "../capi/topology.ts";
import { composeOwnerReference } from "../identity/ownership.ts";
import { START, settings } from "../testing.ts";
import { ANNOTATION_PAUSED } from "./children.ts";
import { runCluster } from "./run.ts";
import { makeRunContext, makeRunDeps, removeCapiCluster } from "./testing-run.ts";

const TEST = { fieldManager: "test" };
/** The operator of the stack releases its own finalizer only. */
const HELD = "example.com/held";
/** Cluster API accepts no cluster without one. */
const controlPlaneRef = { apiGroup: "controlplane.cluster.x-k8s.io", kind: "AnyControlPlane", name: "demo" };
const PAUSED = { paused: true, controlPlaneRef };
const IDLE_POOL = { clusterName: "demo", vcpus: 1, memoryGB: 2, diskGB: 10, desiredNodes: 0 };

let api: TestApi;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(() => api.close());

const makeDeps = () => makeRunDeps(api.client, () => START);
const makeContext = (finalizer: string) => makeRunContext(api.client, finalizer);

test.each([
  ["cluster", clusterKind, idleClusterSpec, "Upgrading"],
  ["node pool", nodePoolKind, IDLE_POOL, "ExpiryHeld"],
])("what others report of a %s stays, unless it is of the operator's types", async (_, kindOf, spec, own) => {
  const { client, namespace } = api;
  const kind = kindOf as Kind<KubeObject & { spec?: object; status?: ClusterStatus }>;
  const name = "noted";
  await client.create(kind, { metadata: { namespace, name }, spec }, TEST);
  const waitForStatusOf = (generation: number) =>
    waitFor(`the status of generation ${generation}`, async () => {
      const status = (await client.get(kind, namespace, name))?.status;
      return status?.observedGeneration === generation ? status : undefined;
    });
  const before = await waitForStatusOf(1);
  const rest = { reason: "Done", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const condition = (type: string) => ({ type, status: "True" as const, ...rest });
  // As managed fields from a backup leave it: nothing says that the operator wrote it.
  const ended = condition(own);
  const foreign = condition("example.com/BackedUp");
  await client.apply(
    kind,
    { metadata: { namespace, name }, status: { conditions: [ended, foreign] } },
    { fieldManager: "backup", subresource: "status" },
  );
  await client.mergePatch(kind, namespace, name, { spec: { displayName: "Noted" } }, TEST);
  await waitForStatusOf(2);
  const typesOf = (status?: ClusterStatus) => status?.conditions?.map(({ type }) => type).sort();
  await expect
    .poll(async () => typesOf((await client.get(kind, namespace, name))?.status))
    .toEqual(typesOf({ ...before, conditions: [...(before.conditions ?? []), foreign] }));
});

test("a deleted cluster waits for a pool that the cache does not show yet, and is gone when that is", async () => {
  const { client, namespace } = api;
  const metadata = { namespace, name: "demo", finalizers: [HELD] };
  await client.create(clusterKind, { metadata, spec: idleClusterSpec }, TEST);
  await client.create(nodePoolKind, { metadata: { namespace, name: "unseen" }, spec: IDLE_POOL }, TEST);
  await client.delete(clusterKind, namespace, "demo");
  const readCluster = () => client.get(clusterKind, namespace, "demo");
  const deleted = await readCluster();
  if (deleted === undefined) throw new Error("the cluster is not held");
  const deps = makeDeps();
  deps.caches.clusters.set({
    ...deleted,
    metadata: { ...deleted.metadata, finalizers: [HELD, FINALIZER] },
  });
  const context = makeContext(HELD);
  const run = () => runCluster(deps, objectKey(deleted), context);

  expect(await run()).toEqual({ requeueAfterMs: 2_000 });
  expect((await readCluster())?.metadata.finalizers).toEqual([HELD]);

  await client.delete(nodePoolKind, namespace, "unseen");
  await expect.poll(() => client.get(nodePoolKind, namespace, "unseen")).toBeUndefined();
  expect(await run()).toEqual({ requeueAfterMs: undefined });
  expect(await readCluster()).toBeUndefined();
});

test("a deleted cluster waits for a Cluster API cluster that the cache does not show, with its subnet, and not for another's", async () => {
  const { client, namespace } = api;
  const metadata = { namespace, name: "demo", finalizers: [HELD] };
  await client.create(clusterKind, { metadata, spec: idleClusterSpec }, TEST);
  await client.delete(clusterKind, namespace, "demo");
  const readCluster = () => client.get(clusterKind, namespace, "demo");
  const deleted = await readCluster();
  if (deleted === undefined) throw new Error("the cluster is not held");
  const id = randomUUID();
  const labels = { [LABEL_ID]: id, [LABEL_CLUSTER_ID]: id };
  const allocation = await client.create(
    configMapKind,
    { metadata: { namespace, name: "subnet-10-64-3-0", labels }, data: { subnet: "10.64.3.0/24" } },
    TEST,
  );
  const deps = { ...makeDeps(), settings: { ...settings, platformNamespace: namespace } };
  deps.caches.subnetAllocations.set(allocation);
  deps.caches.clusters.set({
    ...deleted,
    metadata: { ...deleted.metadata, labels, finalizers: [HELD, FINALIZER] },
  });
  const makeCapi = (ownerReferences: OwnerReference[]) =>
    client.create(
      capiClusterKind,
      { metadata: { namespace, name: "demo", ownerReferences }, spec: PAUSED },
      TEST,
    );
  const readAllocation = () => client.get(configMapKind, namespace, allocation.metadata.name);
  const run = () => runCluster(deps, objectKey(deleted), makeContext(HELD));

  await makeCapi([composeOwnerReference(deleted)]);
  expect(await run()).toEqual({ requeueAfterMs: 2_000 });
  expect((await readCluster())?.metadata.finalizers).toEqual([HELD]);
  expect(await readAllocation()).toBeDefined();

  await removeCapiCluster(api, "demo");
  await expect.poll(() => client.get(capiClusterKind, namespace, "demo")).toBeUndefined();
  deps.topologyWrites.noteUnknownOutcome(objectKey(deleted), []);
  expect((await run())?.requeueAfterMs).toBeGreaterThan(2_000);
  expect(await readAllocation()).toBeDefined();
  await makeCapi([]);
  const restarted = { ...deps, topologyWrites: createTopologyWrites() };
  expect(await runCluster(restarted, objectKey(deleted), makeContext(HELD))).toEqual({
    requeueAfterMs: undefined,
  });
  expect([await readCluster(), await readAllocation()]).toEqual([undefined, undefined]);
  await removeCapiCluster(api, "demo");
});

test("a Cluster API cluster that is made after its Cluster was deleted is garbage collected", async () => {
  const { client, namespace } = api;
  const demo = { namespace, name: "demo" };
  const owner = await client.create(clusterKind, { metadata: demo, spec: idleClusterSpec }, TEST);
  await client.delete(clusterKind, namespace, "demo");
  await expect.poll(() => client.get(clusterKind, namespace, "demo")).toBeUndefined();
  const metadata = { ...demo, ownerReferences: [composeOwnerReference(owner)] };
  await client.apply(
    capiClusterKind,
    asNew({
      apiVersion: apiVersionOf(capiClusterKind),
      kind: "Cluster",
      metadata,
      spec: PAUSED,
    }),
    { ...TEST, force: true },
  );
  const isDeleted = async () => {
    const capiCluster = await client.get(capiClusterKind, namespace, "demo");
    return capiCluster === undefined || capiCluster.metadata.deletionTimestamp !== undefined;
  };
  await expect.poll(isDeleted).toBe(true);
  await removeCapiCluster(api, "demo");
});

test("a cluster that the cache does not show in Cluster API is lost only when the Kubernetes API does not have it either", async () => {
  const { client, namespace } = api;
  const demo = { namespace, name: "demo" };
  await client.create(clusterKind, { metadata: demo, spec: idleClusterSpec }, TEST);
  const capi = { metadata: demo, spec: { paused: false, controlPlaneRef } };
  await client.create(capiClusterKind, capi, TEST);
  const deps = makeDeps();
  const labels = { [LABEL_ORG_ID]: randomUUID() };
  deps.caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } });
  const recorded: string[] = [];
  const recorder = { record: ({ reason }: { reason: string }) => recorded.push(reason) };
  /** The operator of the stack writes about it, too: the namespace is of no organization for it. */
  const run = async () => {
    const found = await client.get(clusterKind, namespace, "demo");
    if (found === undefined) throw new Error("the cluster is gone");
    const metadata = { ...found.metadata, finalizers: [FINALIZER] };
    deps.caches.clusters.set({ ...found, metadata, status: { firstReadyAt: START.toISOString() } });
    return runCluster(deps, objectKey(found), { ...makeContext(FINALIZER), recorder });
  };

  expect(await run()).toEqual({ requeueAfterMs: 2_000 });
  expect(recorded).toEqual([]);

  await removeCapiCluster(api, "demo");
  await expect.poll(() => client.get(capiClusterKind, namespace, "demo")).toBeUndefined();
  await expect.poll(run).not.toEqual({ requeueAfterMs: 2_000 });
  expect(recorded).toContain("InfrastructureLost");
});

test("a CA that its cache does not show is lost only when the Kubernetes API does not have it either", async () => {
  const { client, namespace } = api;
  const demo = { namespace, name: "demo" };
  const id = randomUUID();
  await client.create(clusterKind, { metadata: demo, spec: idleClusterSpec }, TEST);
  const capi = { metadata: { ...demo, labels: { [LABEL_ID]: id } }, spec: { paused: true, controlPlaneRef } };
  await client.create(capiClusterKind, capi, TEST);
  const labels = { [LABEL_CAPI_CLUSTER]: "demo" };
  const { metadata: ca } = await client.create(
    secretKind,
    { metadata: { namespace, name: "demo-ca", labels } },
    TEST,
  );
  const deps = makeDeps();
  deps.caches.namespaces.set({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels: { [LABEL_ORG_ID]: randomUUID() } },
  });
  const recorded: string[] = [];
  const recorder = { record: ({ reason }: { reason: string }) => recorded.push(reason) };
  const run = async () => {
    const [found, capiCluster] = await Promise.all([
      client.get(clusterKind, namespace, "demo"),
      client.get(capiClusterKind, namespace, "demo"),
    ]);
    if (found === undefined || capiCluster === undefined) throw new Error("the cluster is gone");
    deps.caches.capiClusters.set(capiCluster);
    deps.caches.issuedCredentials.set({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        ...demo,
        name: nameAdminSecret("demo"),
        annotations: {
          "cloud.marina.dev/credential-engine": capiCluster.metadata.uid ?? "",
          "cloud.marina.dev/credential-authority": `${ca.uid}/${ca.resourceVersion}`,
        },
      },
    });
    const metadata = {
      ...found.metadata,
      labels: { [LABEL_ID]: id },
      annotations: { [ANNOTATION_IDENTITY]: "new" },
      finalizers: [FINALIZER],
    };
    deps.caches.clusters.set({ ...found, metadata, status: { id, firstReadyAt: START.toISOString() } });
    return runCluster(deps, objectKey(found), { ...makeContext(FINALIZER), recorder });
  };

  expect(await run()).toEqual({ requeueAfterMs: 2_000 });
  expect(recorded).toEqual([]);

  await client.delete(secretKind, namespace, "demo-ca");
  await expect.poll(run).not.toEqual({ requeueAfterMs: 2_000 });
  expect(recorded).toContain("InfrastructureLost");
});

test("a change of Cluster API's Cluster that comes too late is tried again, and nobody is told that it was rejected", async () => {
  const { client, namespace } = api;
  const demo = { namespace, name: "demo" };
  const labels = { [LABEL_ID]: randomUUID() };
  const controlPlaneRef = {
    apiGroup: "controlplane.cluster.x-k8s.io",
    kind: "AnyControlPlane",
    name: "demo",
  };
  const capi = { metadata: { ...demo, labels }, spec: { paused: true, controlPlaneRef } };
  const live = await client.create(capiClusterKind, capi, TEST);
  const deps = makeDeps();
  // The end of a suspension, which another process has written meanwhile.
  const annotations = { [ANNOTATION_PAUSED]: "true" };
  deps.caches.capiClusters.set({ ...live, metadata: { ...live.metadata, annotations } });
  const cluster: Cluster = {
    apiVersion: API_VERSION,
    kind: clusterKind.kind,
    metadata: {
      ...demo,
      uid: randomUUID(),
      labels,
      deletionTimestamp: START.toISOString(),
      finalizers: [FINALIZER],
    },
    spec: { ...idleClusterSpec, publicEndpoint: true },
  };
  deps.caches.clusters.set(cluster);
  const recorded: string[] = [];
  const recorder = { record: ({ reason }: { reason: string }) => recorded.push(reason) };
  const run = runCluster(deps, objectKey(cluster), { ...makeContext(FINALIZER), recorder });
  await expect(run).rejects.toMatchObject({ step: { verb: "patch" }, cause: { isConflict: true } });
  expect(recorded).toEqual([]);
  await removeCapiCluster(api, "demo");
});
