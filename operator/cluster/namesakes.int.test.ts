import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { settings } from "../testing.ts";
import { withNameLock } from "./namesakes.ts";
import { runCluster } from "./run.ts";
import { makeRunContext, makeRunDeps, removeCapiCluster, showPlatform } from "./testing-run.ts";

const TEST = { fieldManager: "test" };
const CLASS = { name: "marina-local-v3", namespace: settings.platformNamespace };

let one: TestApi;
let other: TestApi;
let name: string;
beforeEach(async () => {
  [one, other] = await Promise.all([openTestApi(), openTestApi()]);
  // Cluster API has clusters of other tests in the same management cluster.
  name = `web-${randomUUID().slice(0, 8)}`;
});
afterEach(async () => {
  // While they are paused, Cluster API lets none go.
  await Promise.all([removeCapiCluster(one, name), removeCapiCluster(other, name)]);
  await Promise.all([one.close(), other.close()]);
});

/** A Cluster API cluster as Marina made it; paused, so that nothing but the test writes it. */
async function makeCapi({ client, namespace }: TestApi, id: string): Promise<CapiCluster> {
  const version = `v${idleClusterSpec.version}`;
  const topology = { classRef: CLASS, version, controlPlane: { replicas: 1 } };
  const metadata = { name, namespace, labels: { [LABEL_ID]: id } };
  return client.create(capiClusterKind, { metadata, spec: { paused: true, topology } }, TEST);
}

/** What a cluster is told by in Cluster API, which writes its own fields besides. */
async function readCapi({ client, namespace }: TestApi) {
  const { metadata, spec } = (await client.get(capiClusterKind, namespace, name)) ?? {};
  return metadata && { uid: metadata.uid, labels: metadata.labels, topology: spec?.topology };
}

/** This long after it the Cluster waits for no pools. */
const LATER_MS = 60_000;

/**
 * The operator for the Cluster of this name in one Namespace, whose class does not say that each Namespace has names of its own.
 * Its caches show of the other Namespace this cluster alone. Of the Cluster it writes nothing: the operator of the stack does that.
 */
async function openRun(id: string, status: object, capi?: CapiCluster, foreign?: CapiCluster, api = one) {
  const { client, namespace } = api;
  const metadata = { namespace, name };
  const made = await client.create(clusterKind, { metadata, spec: idleClusterSpec }, TEST);
  const servicePlans = { default: { ...CLASS, class: CLASS.name, controlPlaneReplicas: 1 } };
  const deps = {
    ...makeRunDeps(client, () => new Date(Date.now() + LATER_MS)),
    settings: { ...settings, servicePlans },
  };
  const { caches } = deps;
  const labels = { [LABEL_ORG_ID]: randomUUID(), [LABEL_ID]: id };
  showPlatform(caches, { name: namespace, labels }, { name: CLASS.name });
  const capiUid = capi?.metadata.uid;
  caches.subnetAllocations.set({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "subnet-10-64-3-0", labels: { [LABEL_CLUSTER_ID]: id } },
    data: { subnet: "10.64.3.0/24", ...(capiUid && { engine: capiUid }) },
  });
  for (const shown of [capi, foreign]) if (shown !== undefined) caches.capiClusters.set(shown);
  const annotations = { [ANNOTATION_IDENTITY]: `new ${made.metadata.uid}` };
  const cluster = {
    ...made,
    metadata: { ...made.metadata, labels, annotations, finalizers: [FINALIZER] },
    status,
  };
  caches.clusters.set(cluster);
  const applied: (string | undefined)[] = [];
  const reasons: (string | undefined)[] = [];
  const watched = {
    ...client,
    apply: (...[kind, object, options]: Parameters<KubeClient["apply"]>) => {
      if (kind !== capiClusterKind) {
        const { conditions } = (object as Cluster).status ?? {};
        reasons.push(findCondition(conditions, "Stalled")?.reason);
        return Promise.resolve(cluster);
      }
      const { spec, ...rest } = object as CapiCluster;
      applied.push(rest.metadata.name);
      return client.apply(kind, { ...rest, spec: { ...spec, paused: true } } as KubeObject, options);
    },
    mergePatch: () => Promise.resolve(cluster),
    jsonPatch: () => Promise.resolve(cluster),
  } as unknown as KubeClient;
  const run = () => runCluster(deps, objectKey(cluster), makeRunContext(watched));
  return { applied, reasons, run };
}

test("a cluster whose name is another Namespace's is not made, and says so, though its cache does not show it yet", async () => {
  await makeCapi(other, randomUUID());
  const foreign = await readCapi(other);
  const { applied, reasons, run } = await openRun(randomUUID(), {});
  expect(await run()).toMatchObject({ requeueAfterMs: 2_000 });
  expect([applied, reasons]).toEqual([[], ["NameTaken"]]);
  expect(await readCapi(other)).toEqual(foreign);
  expect(await readCapi(one)).toBeUndefined();

  await removeCapiCluster(other, name);
  await expect.poll(() => readCapi(other)).toBeUndefined();
  await run();
  expect(applied).toEqual([name]);
});

test("a Cluster that is never made keeps its name from nobody, however old it is", async () => {
  const { namespace } = other;
  const suspended = { ...idleClusterSpec, suspend: true };
  await other.client.create(clusterKind, { metadata: { namespace, name }, spec: suspended }, TEST);
  const { applied, run } = await openRun(randomUUID(), {});
  await run();
  expect(applied).toEqual([name]);
});

test("of two operators that make clusters of one name at once, one makes its", async () => {
  const runs = [
    await openRun(randomUUID(), {}),
    await openRun(randomUUID(), {}, undefined, undefined, other),
  ];
  await Promise.all(runs.map(({ run }) => run()));
  const made = await Promise.all([readCapi(one), readCapi(other)]);
  expect(made.filter((cluster) => cluster !== undefined)).toHaveLength(1);
  expect(await one.client.get(configMapKind, settings.platformNamespace, `name-${name}`)).toBeUndefined();
});

test("a cluster waits while another of its name is being made, and removes what an ended process left", async () => {
  const cluster = { metadata: { namespace: other.namespace, name, uid: randomUUID() } } as Cluster;
  const at = (now: Date) => ({ client: other.client, settings, now: () => now });
  const context = makeRunContext(other.client);
  const { applied, reasons, run } = await openRun(randomUUID(), {});
  await withNameLock(at(new Date()), cluster, context, async () => {
    expect(await run()).toEqual({ requeueAfterMs: 2_000 });
    expect([applied, reasons]).toEqual([[], []]);
    const later = at(new Date(Date.now() + 301_000));
    const third = { metadata: { ...cluster.metadata, uid: randomUUID() } } as Cluster;
    expect(await withNameLock(later, third, context, () => Promise.resolve("made"))).toBeUndefined();
    expect(await withNameLock(later, third, context, () => Promise.resolve("made"))).toBe("made");
  });
  await run();
  expect(applied).toEqual([name]);
});

/** The lock on a name as `cluster` takes it, at this time, and what came of `make`. */
function lockAt(now: Date, uid: string, make: () => Promise<unknown>) {
  const cluster = { metadata: { namespace: other.namespace, name, uid } } as Cluster;
  const deps = { client: other.client, settings, now: () => now };
  return withNameLock(deps, cluster, makeRunContext(other.client), make).catch((error: unknown) => error);
}

const readLock = () => one.client.get(configMapKind, settings.platformNamespace, `name-${name}`);

test.each([
  [422, "is free at once"],
  [500, "is kept for the next attempt"],
  [0, "is kept for the next attempt"],
])("after a creation that ended with status %i the name %s", async (status) => {
  const error = new KubeError({ status, reason: "Test", kubeMessage: "it failed" });
  expect(await lockAt(new Date(), "one", () => Promise.reject(error))).toBe(error);
  expect((await readLock()) !== undefined).toBe(status !== 422);
  expect(await lockAt(new Date(), "one", () => Promise.resolve("made"))).toBe("made");
  expect(await readLock()).toBeUndefined();
});

test("a lock that its owner has taken again was not left, however old it is", async () => {
  const later = new Date(Date.now() + 301_000);
  const error = new KubeError({ status: 504, reason: "Test", kubeMessage: "it failed" });
  await lockAt(new Date(), "one", () => Promise.reject(error));
  await lockAt(later, "one", async () => {
    expect(await lockAt(later, "two", () => Promise.resolve("made"))).toBeUndefined();
    expect((await readLock())?.data?.uid).toBe("one");
  });
});

test("clusters that share a name before an upgrade keep it: each is applied under it, and none is made anew", async () => {
  const id = randomUUID();
  const [own, shown] = await Promise.all([makeCapi(one, id), makeCapi(other, randomUUID())]);
  const foreign = await readCapi(other);
  const status = { id, clusterClass: CLASS.name };
  const { applied, run } = await openRun(id, status, own, shown);
  await run();
  expect(applied).toEqual([name]);
  const after = await one.client.listAll(capiClusterKind, { namespace: one.namespace });
  expect(after.map(({ metadata }) => [metadata.name, metadata.uid])).toEqual([[name, own.metadata.uid]]);
  expect(after[0]?.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(["Cluster"]);
  expect(await readCapi(other)).toEqual(foreign);
});
