import { expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { toProjectedCluster } from "../../resources/project/index.ts";
import { requireAccessible } from "./admin-kubeconfig.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

function aCluster(status: Cluster["status"]) {
  const projected = toProjectedCluster(
    {
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      metadata: {
        name: "first-abcde",
        namespace: "org-1",
        uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
        resourceVersion: "12",
        labels: { "cloud.marina.dev/id": ID },
      },
      spec: { version: "1.34.2", publicEndpoint: true },
      ...(status === undefined ? {} : { status }),
    },
    ID,
  );
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

test.each<[string, Cluster["status"], string]>([
  [
    "that has failed",
    { phase: "Failed", message: "Set spec.version to 1.34.2." },
    "It has failed: Set k8s_version to 1.34.2.",
  ],
  ["that is new", undefined, "The control plane is still provisioning."],
])("the access to a cluster %s is refused with the reason", (_, status, reason) => {
  expect(() => requireAccessible(aCluster(status))).toThrow(`The cluster is not ready: ${reason}`);
});

test("a cluster that was running once is accessible, also when it has failed since", () => {
  const status = { phase: "Failed" as const, firstReadyAt: "2026-11-21T09:00:00Z", message: "Down." };
  expect(() => requireAccessible(aCluster(status))).not.toThrow();
});
