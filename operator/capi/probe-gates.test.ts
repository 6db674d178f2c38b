import { expect, test } from "vitest";
import { readGates } from "./required.ts";

const refused = (text: string) =>
  `admission webhook "validation.cluster.cluster.x-k8s.io" denied the request: Cluster.cluster.x-k8s.io "marina-probe" is invalid: ${text}`;

test.each([
  [
    refused(
      "spec.topology.workers.machineDeployments[0].taints: Forbidden: taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled",
    ),
    { topology: true, taints: false },
  ],
  [
    refused("spec.topology: Forbidden: can be set only if the ClusterTopology feature flag is enabled"),
    { topology: false, taints: undefined },
  ],
  ["failed calling webhook: connection refused", { topology: undefined, taints: undefined }],
])("%s", (message, gates) => {
  expect(readGates(message)).toEqual(gates);
});
