import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { findRejectionCause } from "./explain.ts";
import { capiClusterKind } from "./kinds.ts";

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
