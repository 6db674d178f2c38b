import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LABEL_ADD_ON, LABEL_ORG_ID, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { makeRunContext } from "../cluster/testing-run.ts";
import { trimToDigest } from "../copies/copy.ts";
import { createTestCaches } from "../testing-caches.ts";
import { runAddOns } from "./controller.ts";
import { createAddOnObstacles } from "./observe.ts";

const NAME = "cni";
const TEST = { fieldManager: "test" };

let platform: TestApi;
let api: TestApi;
let caches: Caches;

beforeEach(async () => {
  [platform, api] = await Promise.all([openTestApi(), openTestApi()]);
  caches = createTestCaches(api.client, platform.namespace);
  // An organization's in this cache alone: the operator of the stack leaves both alone.
  const metadata = { name: api.namespace, labels: { [LABEL_ORG_ID]: randomUUID() } };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata });
  fillCaches();
  const source = { metadata: { namespace: platform.namespace, name: NAME }, data: { "cni.yaml": "{}" } };
  caches.addOnConfigMaps.set(trimToDigest(await api.client.create(configMapKind, source, TEST)));
});
afterEach(() => Promise.all([platform.close(), api.close()]));

/** A class of the platform that names one set of one manifest, and a cluster of that class. */
function fillCaches(): void {
  const [apiVersion, at] = ["cluster.x-k8s.io/v1beta2", platform.namespace];
  const annotations = { "cloud.marina.dev/cluster-resource-sets": NAME };
  caches.clusterClasses.set({
    apiVersion,
    kind: "ClusterClass",
    metadata: { namespace: at, name: "standard-v1", annotations },
  });
  caches.capiClusters.set({
    apiVersion,
    kind: "Cluster",
    metadata: { namespace: api.namespace, name: "blue" },
    spec: { topology: { classRef: { namespace: at, name: "standard-v1" }, version: "v1.34.2" } },
  });
  caches.resourceSets.set({
    apiVersion: "addons.cluster.x-k8s.io/v1beta2",
    kind: "ClusterResourceSet",
    metadata: { namespace: at, name: NAME },
    spec: { clusterSelector: { matchLabels: { team: "a" } }, resources: [{ kind: "ConfigMap", name: NAME }] },
  });
}

test("a ConfigMap that has the name of an add-on's manifest stays as it is, and the clusters report it until it is deleted", async () => {
  const own = { metadata: { namespace: api.namespace, name: NAME }, data: { own: "yes" } };
  await api.client.create(configMapKind, own, TEST);
  const obstacles = createAddOnObstacles(() => undefined);
  const context = makeRunContext(api.client, "example.com/none", MANAGER_OPERATOR);
  const run = () => runAddOns({ client: api.client, caches, obstacles }, api.namespace, context);
  const read = () => api.client.get(configMapKind, api.namespace, NAME);
  await expect(run()).rejects.toThrow(/cni: there is one that is no copy/);
  expect((await read())?.data).toEqual({ own: "yes" });
  const inWay = new Map([[`${platform.namespace}/${NAME}`, [`ConfigMap ${NAME}`]]]);
  expect(obstacles.find(api.namespace)).toEqual(inWay);
  await api.client.delete(configMapKind, api.namespace, NAME);
  await run();
  expect((await read())?.metadata.labels).toEqual({ [LABEL_ADD_ON]: "copy" });
  expect(obstacles.find(api.namespace)).toEqual(new Map());
});
