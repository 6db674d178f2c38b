import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Requirement } from "../../shared/kube/required-kinds.ts";
import { clusterResourceSetBindingKind, clusterResourceSetKind } from "./add-ons.ts";
import {
  capiClusterKind,
  clusterClassKind,
  machineDeploymentKind,
  machineKind,
  machineSetKind,
} from "./kinds.ts";
import { findRejectionCause } from "./tenant-messages.ts";

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
    { kind: clusterResourceSetKind, fields: ["spec.strategy", "spec.resources[].kind"] },
    {
      kind: clusterResourceSetBindingKind,
      fields: ["spec.bindings[].clusterResourceSetName", "spec.bindings[].resources[].hash"],
    },
  ],
  remedy: "install Cluster API 1.14 with the feature gate ClusterTopology, or upgrade to it",
};

const TAINT = {
  key: "cloud.marina.dev/probe",
  effect: "NoSchedule",
  propagation: "OnInitialization",
} as const;

/** Whether feature gates of Cluster API are on; undefined = it does not answer, or answers something else. */
export interface CapiGates {
  /** ClusterTopology, without which there are no clusters. */
  topology: boolean | undefined;
  /** MachineTaintPropagation, for the taints of pools. */
  taints: boolean | undefined;
}

/** Finds the gates by a dry run that stores nothing: nothing shows them. Its webhook needs no class for it. */
export async function probeGates(
  client: Pick<KubeClient, "create">,
  { namespace, fieldManager, signal }: { namespace: string; fieldManager: string; signal: AbortSignal },
): Promise<CapiGates> {
  const topology = {
    classRef: { name: "marina-probe" },
    version: "v1.30.0",
    workers: { machineDeployments: [{ class: "probe", name: "probe", taints: [TAINT] }] },
  };
  const probe = { metadata: { name: "marina-probe", namespace }, spec: { topology } };
  try {
    await client.create(capiClusterKind, probe, { fieldManager, dryRun: true, signal });
    return { topology: true, taints: true };
  } catch (error) {
    if (!(error instanceof KubeError) || error.isAborted) throw error;
    return readGates(error.kubeMessage);
  }
}

/** The gates by the text of a refusal: Cluster API has no codes for it. */
export function readGates(message: string): CapiGates {
  if (/ClusterTopology feature flag is enabled/.test(message)) return { topology: false, taints: undefined };
  return findRejectionCause(message) === "taints"
    ? { topology: true, taints: false }
    : { topology: undefined, taints: undefined };
}
