import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { findRejectionCause } from "./explain.ts";
import { capiClusterKind } from "./kinds.ts";

const TAINT = {
  key: "cloud.marina.dev/probe",
  effect: "NoSchedule",
  propagation: "OnInitialization",
} as const;

/**
 * Whether Cluster API takes the taints of pools, which it does with the feature gate MachineTaintPropagation: by a dry run
 * that stores nothing. Its webhook needs no class for it. Undefined = it does not answer, or answers something else.
 */
export async function probeTaints(
  client: Pick<KubeClient, "create">,
  { namespace, fieldManager, signal }: { namespace: string; fieldManager: string; signal: AbortSignal },
): Promise<boolean | undefined> {
  const topology = {
    classRef: { name: "marina-probe" },
    version: "v1.30.0",
    workers: { machineDeployments: [{ class: "probe", name: "probe", taints: [TAINT] }] },
  };
  const probe = { metadata: { name: "marina-probe", namespace }, spec: { topology } };
  try {
    await client.create(capiClusterKind, probe, { fieldManager, dryRun: true, signal });
    return true;
  } catch (error) {
    if (!(error instanceof KubeError) || error.isAborted) throw error;
    return findRejectionCause(error.kubeMessage) === "taints" ? false : undefined;
  }
}
