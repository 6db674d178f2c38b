import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { createStatusThrottle } from "../../shared/controller/status-throttle.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import {
  type CapiCluster,
  capiClusterKind,
  LABEL_CAPI_CLUSTER,
  LABEL_CAPI_POOL,
  machineDeploymentKind,
  machineKind,
} from "../capi/kinds.ts";
import { createTopologyWrites } from "../capi/topology.ts";
import { runCluster } from "../cluster/run.ts";
import { makeRunContext, makeRunDeps, removeCapiCluster, showPlatform } from "../cluster/testing-run.ts";
import { makePool, START, settings } from "../testing.ts";
import { runPool } from "./controller.ts";

const TEST = { fieldManager: "test" };
/** The operator of the stack releases its own finalizer only. */
const HELD = "example.com/held";
const CLASS = { name: "marina-local-v3", namespace: settings.platformNamespace };
const CLUSTER = "shop";
/** This long after it the Cluster waits for no pools. */
const LATER_MS = 60_000;
const UNANSWERED = new KubeError({ status: 0, reason: "DeadlineExceeded", kubeMessage: "no response" });

let api: TestApi;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(async () => {
  // While it is paused, Cluster API does not let it go.
  await removeCapiCluster(api, CLUSTER);
  await api.close();
});

type Apply = () => Promise<CapiCluster>;

/** The operator for a Cluster that Cluster API has without pools, paused, so that nothing but the test writes that. */
async function openOperator() {
  const { client, namespace } = api;
  const metadata = { namespace, name: CLUSTER };
  const made = await client.create(clusterKind, { metadata, spec: idleClusterSpec }, TEST);
  const clock = { nowMs: 0 };
  const now = () => new Date(Date.now() + LATER_MS);
  const servicePlans = { default: { ...CLASS, class: CLASS.name, controlPlaneReplicas: 1 } };
  const topologyWrites = createTopologyWrites(() => clock.nowMs);
  const deps = { ...makeRunDeps(client, now), settings: { ...settings, servicePlans }, topologyWrites };
  const { caches } = deps;
  const id = randomUUID();
  const labels = { [LABEL_ORG_ID]: randomUUID(), [LABEL_ID]: id };
  const annotations = { "cloud.marina.dev/infrastructure-names": "per-namespace" };
  showPlatform(caches, { name: namespace, labels }, { name: CLASS.name, annotations });
  caches.subnetAllocations.set({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "subnet-10-64-3-0", labels: { [LABEL_CLUSTER_ID]: id } },
    data: { subnet: "10.64.3.0/24" },
  });
  const cluster = {
    ...made,
    metadata: {
      ...made.metadata,
      labels,
      annotations: { [ANNOTATION_IDENTITY]: `new ${made.metadata.uid}` },
      finalizers: [FINALIZER],
    },
  };
  caches.clusters.set(cluster);

  const readCapi = () => client.get(capiClusterKind, namespace, CLUSTER);
  /** It writes nothing of the Cluster: the operator of the stack does that. */
  const apply = (send: (apply: Apply) => Promise<CapiCluster>) => {
    const watched = {
      ...client,
      apply: (...[kind, object, options]: Parameters<KubeClient["apply"]>) => {
        if (kind !== capiClusterKind) return Promise.resolve(cluster);
        const { spec, ...rest } = object as CapiCluster;
        const paused = { ...rest, spec: { ...spec, paused: true } } as CapiCluster;
        return send(() => client.apply(capiClusterKind, paused, options));
      },
      mergePatch: () => Promise.resolve(cluster),
      jsonPatch: () => Promise.resolve(cluster),
    } as unknown as KubeClient;
    return runCluster(deps, objectKey(cluster), makeRunContext(watched));
  };
  /** Shows the topology as Cluster API has it now, which counts as observed. */
  const showCapi = async () => {
    const { generation } = (await readCapi())?.metadata ?? {};
    const status = { status: { observedGeneration: generation } };
    const options = { ...TEST, subresource: "status" as const };
    const shown = await client.mergePatch(capiClusterKind, namespace, CLUSTER, status, options);
    caches.capiClusters.set(shown);
    return shown.spec?.topology?.workers?.machineDeployments?.map((pool) => pool.name) ?? [];
  };
  await apply((send) => send());
  expect(await showCapi()).toEqual([]);
  return { deps, clock, apply, showCapi };
}

type Operator = Awaited<ReturnType<typeof openOperator>>;

/** A pool of that Cluster, which its caches show with the operator's finalizer, and its reconciles. */
async function openPool({ deps }: Operator) {
  const { client, namespace } = api;
  const { clusterName: _, ...size } = makePool("web").spec;
  const metadata = { namespace, name: "web", finalizers: [HELD] };
  const spec = { clusterName: CLUSTER, ...size };
  const { uid = "" } = (await client.create(nodePoolKind, { metadata, spec }, TEST)).metadata;
  const shown = makePool("web", spec, { namespace, uid, finalizers: [HELD, FINALIZER] });
  deps.caches.nodePools.set(shown);
  const poolDeps = {
    client,
    caches: deps.caches,
    settings: { ...settings, autoscalerImage: undefined, syncedNodeLabels: /.*/ },
    throttle: createStatusThrottle(),
    topologyWrites: deps.topologyWrites,
    now: () => deps.now(),
    log: { warn: () => undefined },
  };
  /** Its status is the operator's of the stack. */
  const context = makeRunContext(
    { ...client, apply: (_kind, object) => Promise.resolve(object as never) },
    HELD,
  );
  return {
    run: () => runPool(poolDeps, objectKey(shown), context),
    isHeld: async () => (await client.get(nodePoolKind, namespace, "web")) !== undefined,
    async delete() {
      await client.delete(nodePoolKind, namespace, "web");
      const deletionTimestamp = START.toISOString();
      deps.caches.nodePools.set({ ...shown, metadata: { ...shown.metadata, deletionTimestamp } });
    },
  };
}

test.each<[string, (apply: Apply, gate: Promise<void>) => Promise<CapiCluster>]>([
  ["is under way to the Kubernetes API", (apply, gate) => gate.then(apply)],
  [
    "is made and not answered yet",
    async (apply, gate) => {
      const made = await apply();
      await gate;
      return made;
    },
  ],
  [
    "was made and never answered",
    async (apply) => {
      await apply();
      throw UNANSWERED;
    },
  ],
])(
  "a pool that is deleted while an apply that adds it to the topology %s waits until Cluster API has been without it again",
  async (_, send) => {
    const operator = await openOperator();
    const pool = await openPool(operator);
    const gate = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    const running = operator.apply((apply) => {
      sent.resolve();
      return send(apply, gate.promise);
    });
    const ended = Promise.allSettled([running]);
    await sent.promise;
    await pool.delete();
    expect(await pool.run()).toMatchObject({ requeueAfterMs: expect.any(Number) });
    expect(await pool.isHeld()).toBe(true);

    gate.resolve();
    await ended;
    operator.clock.nowMs += 40_000;
    // The cache shows the topology of before.
    expect(await pool.run()).toEqual({ requeueAfterMs: 2_000 });
    expect(await pool.isHeld()).toBe(true);

    expect(await operator.showCapi()).toEqual(["web"]);
    await operator.apply((apply) => apply());
    expect(await pool.run()).toMatchObject({ requeueAfterMs: expect.any(Number) });
    // The controllers of Cluster API write the object, too, and observe a change in their time.
    await waitFor("the pool to be released", async () => {
      expect(await operator.showCapi()).toEqual([]);
      await pool.run();
      return !(await pool.isHeld());
    });
  },
);

test("a pool that is deleted while an apply that adds it was given up, and is made later, waits for the last moment of that", async () => {
  const operator = await openOperator();
  const pool = await openPool(operator);
  let makeLate: Apply | undefined;
  const unanswered = operator.apply((apply) => {
    makeLate = apply;
    return Promise.reject(UNANSWERED);
  });
  await expect(unanswered).rejects.toBe(UNANSWERED);
  await pool.delete();
  operator.clock.nowMs += 39_000;
  expect(await pool.run()).toEqual({ requeueAfterMs: 1_000 });
  await makeLate?.();
  operator.clock.nowMs += 1_000;
  expect(await pool.run()).toEqual({ requeueAfterMs: 2_000 });
  expect(await pool.isHeld()).toBe(true);
});

test.each([
  ["MachineDeployment", machineDeploymentKind],
  ["Machine", machineKind],
])("a deleted pool waits for a %s that its cache does not show", async (_, kind) => {
  const { client, namespace } = api;
  const operator = await openOperator();
  const pool = await openPool(operator);
  const labels = { [LABEL_CAPI_CLUSTER]: CLUSTER, [LABEL_CAPI_POOL]: "web" };
  // Cluster API, where the cluster is paused, does nothing with it.
  const infrastructureRef = { apiGroup: "local.marina.dev", kind: "LocalMachine", name: "none" };
  const machine = { clusterName: CLUSTER, bootstrap: { dataSecretName: "none" }, infrastructureRef };
  const template = { metadata: { labels }, spec: machine };
  const spec =
    kind === machineKind
      ? machine
      : { clusterName: CLUSTER, replicas: 0, selector: { matchLabels: labels }, template };
  const object = { metadata: { namespace, name: "unseen", labels }, spec } as unknown as KubeObject;
  await client.create(kind, object as never, TEST);
  await pool.delete();
  expect(await pool.run()).toEqual({ requeueAfterMs: 2_000 });
  expect(await pool.isHeld()).toBe(true);

  await client.delete(kind, namespace, "unseen");
  await client
    .mergePatch(kind, namespace, "unseen", { metadata: { finalizers: null } }, TEST)
    .catch(() => undefined);
  await expect.poll(() => client.get<KubeObject>(kind as never, namespace, "unseen")).toBeUndefined();
  expect(await pool.run()).toEqual({ requeueAfterMs: undefined });
  expect(await pool.isHeld()).toBe(false);
});
