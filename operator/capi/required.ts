import type { Requirement } from "../../shared/kube/required-kinds.ts";
import {
  capiClusterKind,
  clusterClassKind,
  machineDeploymentKind,
  machineKind,
  machineSetKind,
} from "./kinds.ts";

/**
 * Cluster API as the operator needs it. Of the fields those are named without which it would lose what it writes (a field that
 * a server does not know is dropped silently) or never see the end of an upgrade; the last of them came with Cluster API 1.14.
 */
export const CAPI: Requirement = {
  kinds: [
    {
      kind: capiClusterKind,
      fields: [
        "spec.topology.classRef.namespace",
        "spec.topology.controlPlane.replicas",
        "spec.topology.variables[].value",
        "spec.topology.controlPlane.deletion.nodeVolumeDetachTimeoutSeconds",
        "spec.topology.workers.machineDeployments[].deletion.nodeVolumeDetachTimeoutSeconds",
        "spec.topology.workers.machineDeployments[].taints[].propagation",
        "spec.topology.workers.machineDeployments[].variables.overrides[].value",
        "status.controlPlane.upgradePlan",
        "status.controlPlane.versions",
        "status.workers.versions",
      ],
    },
    { kind: machineDeploymentKind, fields: ["status.upToDateReplicas", "status.versions"] },
    { kind: machineSetKind, fields: ["spec.template.spec.infrastructureRef.apiGroup"] },
    { kind: machineKind, fields: ["spec.infrastructureRef.apiGroup", "status.nodeRef.name"] },
    {
      kind: clusterClassKind,
      fields: ["spec.kubernetesVersions", "spec.workers.machineDeployments[].class"],
    },
  ],
  remedy: "install Cluster API 1.14 with the feature gate ClusterTopology, or upgrade to it",
};
