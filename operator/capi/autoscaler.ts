const READ = ["get", "list", "watch"];

/**
 * What the cluster autoscaler does in the management cluster, within one namespace: it finds the node groups of its cluster,
 * scales them, marks the Machines to delete first, and reads what a Machine would offer.
 */
export const AUTOSCALER_RULES = [
  {
    apiGroups: ["cluster.x-k8s.io"],
    resources: ["machinedeployments", "machinepools", "machinesets"],
    verbs: READ,
  },
  {
    apiGroups: ["cluster.x-k8s.io"],
    resources: ["machines"],
    verbs: [...READ, "update", "patch"],
  },
  {
    apiGroups: ["cluster.x-k8s.io"],
    resources: ["machinedeployments/scale", "machinepools/scale", "machinesets/scale"],
    verbs: ["get", "update", "patch"],
  },
  { apiGroups: ["infrastructure.cluster.x-k8s.io"], resources: ["*"], verbs: READ },
];

/** The flags by which the cluster autoscaler finds the node groups and the tenant API of one cluster. */
export function autoscalerArgs(namespace: string, clusterName: string, kubeconfigPath: string): string[] {
  return [
    "--cloud-provider=clusterapi",
    `--node-group-auto-discovery=clusterapi:namespace=${namespace},clusterName=${clusterName}`,
    `--kubeconfig=${kubeconfigPath}`,
    "--clusterapi-cloud-config-authoritative",
  ];
}
