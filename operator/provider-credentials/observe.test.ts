import { expect, test } from "vitest";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { NAMESPACE, ORG, settings } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { aCluster } from "../testing-cluster.ts";
import { observeCredentials } from "./controller.ts";

/** What is observed of a Namespace with a Cluster API cluster, and with a Cluster of this plan; undefined = without a Cluster. */
function observe(plan: string | undefined) {
  const caches = createTestCaches();
  const metadata = { name: NAMESPACE, labels: { [LABEL_ORG_ID]: ORG } };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata });
  const capi = { namespace: NAMESPACE, name: "demo" };
  caches.capiClusters.set({ apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster", metadata: capi });
  if (plan !== undefined) caches.clusters.set(aCluster({ plan }).observed.cluster);
  const scale = { class: "a", namespace: "a", controlPlaneReplicas: 1, credentials: ["cloud"] };
  return observeCredentials(caches, { ...settings, servicePlans: { scale } }, NAMESPACE);
}

test.each([
  ["a Cluster whose plan is known is known", "scale", { wanted: ["cloud"], isUnknown: false }],
  ["a Cluster whose plan left the configuration is unknown", "starter", { wanted: [], isUnknown: true }],
  ["no Cluster is unknown", undefined, { wanted: [], isUnknown: true }],
])("a Cluster API cluster with %s", (_, plan, { wanted, isUnknown }) => {
  expect(observe(plan)).toMatchObject({
    named: new Set(["cloud"]),
    wanted: new Set(wanted),
    hasCapiCluster: true,
    hasUnknownCapiCluster: isUnknown,
  });
});
