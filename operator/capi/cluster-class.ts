import type { CapiHealthCheck, ClusterClass } from "./kinds.ts";

/** What a ClusterClass supports, and so what Marina may send it. */
export interface ClassCapabilities {
  variables: ReadonlySet<string>;
  /** The class of workers that every pool uses: the first that the ClusterClass lists. */
  workerClass: string | undefined;
  /** The health check of that class; undefined = it has none. */
  workerHealthCheck: CapiHealthCheck | undefined;
  /** The control plane runs on machines of Cluster API; any other kind has no field for how they are deleted. */
  controlPlaneMachines: boolean;
  /** Versions (with `v`) that the class chains by itself; empty = one minor per step. */
  kubernetesVersions: readonly string[];
}

/** Reads a ClusterClass. Variables of its patches and of its extensions count alike. */
export function readClusterClass(clusterClass: ClusterClass): ClassCapabilities {
  const declared = [...(clusterClass.spec?.variables ?? []), ...(clusterClass.status?.variables ?? [])];
  const [workers] = clusterClass.spec?.workers?.machineDeployments ?? [];
  return {
    variables: new Set(declared.map((variable) => variable.name)),
    workerClass: workers?.class,
    workerHealthCheck: workers?.healthCheck,
    controlPlaneMachines: clusterClass.spec?.controlPlane?.machineInfrastructure !== undefined,
    kubernetesVersions: clusterClass.spec?.kubernetesVersions ?? [],
  };
}
