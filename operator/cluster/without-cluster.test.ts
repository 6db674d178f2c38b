import { expect, test } from "vitest";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { reportWithoutCluster } from "./events.ts";
import { CLUSTER_ID, NOW, secondsAgo } from "./testing.ts";

function anCapiCluster(metadata: Partial<CapiCluster["metadata"]> = {}): CapiCluster {
  const labels = { [LABEL_ID]: CLUSTER_ID };
  const creationTimestamp = secondsAgo(90);
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: { namespace: "org-1", name: "blue", uid: "u", labels, creationTimestamp, ...metadata },
  };
}

test("a cluster of Cluster API whose Cluster is deleted has a Warning that names both remedies", () => {
  const { events } = reportWithoutCluster(anCapiCluster(), NOW);
  expect(events).toMatchObject([
    { type: "Warning", reason: "ClusterMissing", regarding: { kind: "Cluster", name: "blue", uid: "u" } },
  ]);
  expect(events[0]?.note).toMatch(/org-1\/blue .* Restore .*, or delete/);
});

test.each<[string, CapiCluster | undefined, number | undefined]>([
  ["there is none", undefined, undefined],
  ["Marina did not make it", anCapiCluster({ labels: {} }), undefined],
  ["it is being deleted", anCapiCluster({ deletionTimestamp: secondsAgo(1) }), undefined],
  ["its Cluster may be restored after it", anCapiCluster({ creationTimestamp: secondsAgo(20) }), 40_000],
])("there is no Warning where %s", (_, capiCluster, requeueAfterMs) => {
  expect(reportWithoutCluster(capiCluster, NOW)).toEqual({
    events: [],
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  });
});
