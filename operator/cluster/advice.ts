import type { Cluster } from "../../shared/crd/cluster.ts";

/** The next step where a tenant can only wait: whom to ask, and what that one looks at. */
export function adviseOperator(cluster: Cluster): string {
  const { namespace, name } = cluster.metadata;
  return `If this lasts, ask the platform's operator to look at the Cluster API Cluster ${namespace}/${name}.`;
}

export function describePause(cluster: Cluster): string {
  const { namespace, name } = cluster.metadata;
  return `The engine has been told to leave this cluster alone: set spec.paused of the Cluster API Cluster ${namespace}/${name} to false.`;
}
