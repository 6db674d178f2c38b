import { expect, test } from "vitest";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { createLogger } from "../../shared/program/log.ts";
import { createCaches } from "../create-caches.ts";
import { NAMESPACE, ORG, settings } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { observeCredentials } from "./observe.ts";

/** What is observed of a Namespace with the engine of a cluster, and with a Cluster of this plan; undefined = without a Cluster. */
function observe(plan: string | undefined) {
  const neverAsked = () => {
    throw new Error("the caches are not started");
  };
  const { caches } = createCaches({
    client: { list: neverAsked, watch: neverAsked },
    platformNamespace: settings.platformNamespace,
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  });
  const metadata = { name: NAMESPACE, labels: { [LABEL_ORG_ID]: ORG } };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata });
  const engine = { namespace: NAMESPACE, name: "demo" };
  caches.capiClusters.set({ apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster", metadata: engine });
  if (plan !== undefined) caches.clusters.set(aCluster({ plan }).observed.cluster);
  const plans = { scale: { class: "a", namespace: "a", controlPlaneReplicas: 1, credentials: ["cloud"] } };
  return observeCredentials(caches, { platformNamespace: settings.platformNamespace, plans }, NAMESPACE);
}

test.each([
  ["a Cluster whose plan is known is known", "scale", { wanted: ["cloud"], isUnknown: false }],
  ["a Cluster whose plan left the configuration is unknown", "starter", { wanted: [], isUnknown: true }],
  ["no Cluster is unknown", undefined, { wanted: [], isUnknown: true }],
])("an engine with %s", (_, plan, { wanted, isUnknown }) => {
  expect(observe(plan)).toMatchObject({
    named: new Set(["cloud"]),
    wanted: new Set(wanted),
    hasEngine: true,
    hasUnknownEngine: isUnknown,
  });
});
