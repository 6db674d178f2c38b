import type { Cluster } from "../../shared/crd/cluster.ts";

/** The next step where a tenant can only wait: whom to ask, and for what. */
export function adviseOperator(cluster: Cluster): string {
  const { namespace, name } = cluster.metadata;
  return `If this lasts, ask the platform's operator to look at the Cluster API Cluster ${namespace}/${name}.`;
}

export function describePause(cluster: Cluster): string {
  const { namespace, name } = cluster.metadata;
  return `Cluster API is paused for this cluster: set spec.paused of the Cluster API Cluster ${namespace}/${name} to false.`;
}
