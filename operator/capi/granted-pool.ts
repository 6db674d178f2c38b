import { ANNOTATION_APPLIED } from "../../shared/crd/names.ts";
import type { CapiCluster, CapiPool } from "./kinds.ts";
import { type DesiredPool, readAutoscalerBounds } from "./worker-pool.ts";

/** What Cluster API was given of a pool: what its quotas allowed when it was last applied. */
export interface GrantedPool {
  size: DesiredPool["size"];
  /** Undefined = the class has no variable for the size of a machine. */
  machine: DesiredPool["machine"] | undefined;
  /** The hash of its settings (see hashPoolSettings). */
  settings: string | undefined;
}

/** The pools in the live topology, by name. */
export function readGrantedPools(cluster: CapiCluster | undefined): ReadonlyMap<string, GrantedPool> {
  const entries = cluster?.spec?.topology?.workers?.machineDeployments ?? [];
  return new Map(entries.map((entry) => [entry.name, readGrantedPool(entry)]));
}

function readGrantedPool(entry: CapiPool): GrantedPool {
  const bounds = readAutoscalerBounds(entry);
  return {
    size:
      bounds === undefined
        ? { kind: "fixed", nodes: entry.replicas ?? 0 }
        : { kind: "autoscaled", ...bounds },
    machine: readMachineSize(entry),
    settings: entry.metadata?.annotations?.[ANNOTATION_APPLIED],
  };
}

function readMachineSize({ variables }: CapiPool): DesiredPool["machine"] | undefined {
  const value = variables?.overrides.find(({ name }) => name === "machine")?.value;
  if (typeof value !== "object" || value === null) return undefined;
  const { vcpus, memoryGB, diskGB } = value as Partial<Record<string, unknown>>;
  return typeof vcpus === "number" && typeof memoryGB === "number" && typeof diskGB === "number"
    ? { vcpus, memoryGB, diskGB }
    : undefined;
}
