import type { ClusterClass } from "./kinds.ts";

/** What a ClusterClass supports, and so what Marina may send it. */
export interface ClassCapabilities {
  variables: ReadonlySet<string>;
  /** The class of workers that every pool uses: the first that the ClusterClass lists. */
  workerClass: string | undefined;
  /** Versions (with `v`) that the class chains by itself; empty = one minor per step. */
  kubernetesVersions: readonly string[];
}

/** Reads a ClusterClass. Variables of its patches and of its extensions count alike. */
export function readClusterClass(clusterClass: ClusterClass): ClassCapabilities {
  const declared = [...(clusterClass.spec?.variables ?? []), ...(clusterClass.status?.variables ?? [])];
  return {
    variables: new Set(declared.map((variable) => variable.name)),
    workerClass: clusterClass.spec?.workers?.machineDeployments?.[0]?.class,
    kubernetesVersions: clusterClass.spec?.kubernetesVersions ?? [],
  };
}
