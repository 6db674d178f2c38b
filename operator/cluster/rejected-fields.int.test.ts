import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
  VERSION_CATALOGUE_CONFIG_MAP,
  VERSION_CATALOGUE_KEY,
} from "../../shared/crd/names.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { capiClusterKind, clusterClassKind } from "../capi/kinds.ts";
import { makePool, START, settings } from "../testing.ts";
import { runCluster } from "./run.ts";
import { makeRunContext, makeRunDeps, removeCapiCluster, showPlatform } from "./testing-run.ts";

const TEST = { fieldManager: "test" };

let api: TestApi;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(async () => {
  await removeCapiCluster(api, "demo");
  await api.close();
});

/** A cluster of the stack's class, which Cluster API has and leaves as it is; the operator of the stack does nothing with it. */
async function makeCluster() {
  const { client, namespace } = api;
  const [clusterClass] = await client.listAll(clusterClassKind, { namespace: settings.platformNamespace });
  if (clusterClass === undefined) throw new Error("the stack has no class");
  const classRef = { name: clusterClass.metadata.name, namespace: settings.platformNamespace };
  const plan = { class: classRef.name, namespace: classRef.namespace, controlPlaneReplicas: 1 };
  const id = randomUUID();
  const made = await client.create(
    clusterKind,
    { metadata: { namespace, name: "demo" }, spec: idleClusterSpec },
    TEST,
  );
  const { apiVersion, kind } = made;
  const owner = { apiVersion, kind, name: "demo", uid: made.metadata.uid ?? "", controller: true };
  const metadata = { namespace, name: "demo", labels: { [LABEL_ID]: id }, ownerReferences: [owner] };
  const topology = { classRef, version: "v1.34.2", controlPlane: { replicas: 1 } };
  await client.create(capiClusterKind, { metadata, spec: { paused: true, topology } }, TEST);

  const deps = makeRunDeps(client, () => new Date());
  deps.settings = { ...settings, servicePlans: { default: plan } };
  const { caches } = deps;
  const labels = { [LABEL_ORG_ID]: randomUUID() };
  showPlatform(caches, { name: namespace, labels }, { name: "unused" });
  caches.clusterClasses.set(clusterClass);
  caches.catalogues.set({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: settings.platformNamespace, name: VERSION_CATALOGUE_CONFIG_MAP },
    data: { [VERSION_CATALOGUE_KEY]: JSON.stringify([{ version: "1.34.2", status: "supported" }]) },
  });
  const uid = made.metadata.uid ?? "";
  const own = { labels: { ...labels, [LABEL_ID]: id }, finalizers: [FINALIZER] };
  const context = makeRunContext(client);
  const ids = new Map(["db", "old", "web"].map((name) => [name, randomUUID()]));

  return {
    /** Reconciles the cluster with these networks, as long as it takes, and returns what Cluster API has of it. */
    reconcile: async (authorizedCIDRs: string[], generation: number) => {
      for (let runs = 0; runs < 3; ) {
        const found = await client.get(clusterKind, namespace, "demo");
        if (found === undefined) throw new Error("the cluster is gone");
        const spec = { version: "1.34", publicEndpoint: true, network: { authorizedCIDRs } };
        // Once its status has the id, nothing confirms it any more.
        const annotations = found.status?.id === undefined ? { [ANNOTATION_IDENTITY]: `new ${uid}` } : {};
        const metadata = { ...found.metadata, ...own, annotations, generation };
        caches.clusters.set({ ...found, metadata, spec });
        const live = await client.get(capiClusterKind, namespace, "demo");
        if (live !== undefined) caches.capiClusters.set(live);
        const platform = { namespace: settings.platformNamespace };
        const labelSelector = `${LABEL_CLUSTER_ID}=${id}`;
        for (const one of await client.listAll(configMapKind, { ...platform, labelSelector }))
          caches.subnetAllocations.set(one);
        try {
          await runCluster(deps, objectKey(made), context);
          runs += 1;
        } catch (error) {
          // The operator of the stack writes the status, too.
          if (!(error instanceof KubeError && error.isConflict)) throw error;
        }
      }
      return (await client.get(capiClusterKind, namespace, "demo"))?.spec?.topology;
    },
    setPool: (...[name, spec, rest]: Parameters<typeof makePool>) => {
      const identity = {
        labels: { ...labels, [LABEL_ID]: ids.get(name) ?? "" },
        annotations: { [ANNOTATION_IDENTITY]: `new uid-${name}` },
      };
      caches.nodePools.set(makePool(name, spec, { namespace, ...identity, ...rest }));
    },
    readStatus: async () => (await client.get(clusterKind, namespace, "demo"))?.status,
  };
}

test("sizes that the class does not have wait alone: pools are scaled and deleted, and the list of networks is shortened", async () => {
  const { reconcile, setPool, readStatus } = await makeCluster();
  const [office, former] = ["203.0.113.0/24", "198.51.100.0/24"];
  setPool("db", { desiredNodes: 1 });
  setPool("old", { desiredNodes: 1 });
  const before = await reconcile([office, former], 1);
  expect(before?.workers?.machineDeployments).toMatchObject([{ name: "db", replicas: 1 }, { name: "old" }]);

  const tooLarge = { vcpus: 10_000 };
  setPool("db", { ...tooLarge, desiredNodes: 3 }, { generation: 2 });
  setPool("old", { desiredNodes: 1 }, { deletionTimestamp: START.toISOString() });
  setPool("web", tooLarge);
  const after = await reconcile([office], 2);
  const pools = after?.workers?.machineDeployments ?? [];
  expect(pools.map(({ name, replicas }) => [name, replicas])).toEqual([["db", 3]]);
  expect(pools[0]?.variables?.overrides).toMatchObject([{ name: "machine", value: { vcpus: 2 } }]);
  const list = after?.variables?.find(({ name }) => name === "authorizedCIDRs")?.value;
  expect(list).not.toContain(former);
  expect(list).toContain(office);
  const says = (name: string) => ({
    field: `nodePools/${name}`,
    reason: "RejectedByClusterAPI",
    message: expect.stringMatching(
      new RegExp(`^Cluster API rejects the node pool ${name} as specified: vcpus should be less than`),
    ),
  });
  expect((await readStatus())?.unapplied).toEqual([says("db"), says("web")]);
});
