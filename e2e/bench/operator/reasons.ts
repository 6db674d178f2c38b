/** The reason for each request of the operator: by verb and resource, the first entry that matches. */
const REASONS: readonly [request: RegExp, reason: string][] = [
  [/^(get|update|create|patch) leases\./, "leader election, renewed every 2 s"],
  [/^watch /, "a watch is renewed every 5 to 10 minutes"],
  [
    /^list nodepools\./,
    "the first list of a cache; and before a cluster's finalizer is released, for pools that the cache lacks",
  ],
  [/^list /, "the first list of a cache, or after a watch that was too old"],
  [/^patch clusters\.cloud\.marina\.dev$/, "id, organization and finalizer first; the finalizer last"],
  [/^patch nodepools\.cloud\.marina\.dev$/, "id, organization and finalizer first; the finalizer last"],
  [/^patch clusters\.cloud\.marina\.dev\/status$/, "the status changed"],
  [/^patch nodepools\.cloud\.marina\.dev\/status$/, "the status changed"],
  [/^delete nodepools\./, "the pools of a deleted cluster"],
  [/^patch clusters\.cluster\.x-k8s\.io$/, "the desired state for Cluster API changed"],
  [/^delete clusters\.cluster\.x-k8s\.io$/, "deletion of the Cluster API cluster"],
  [/^delete machines\.cluster\.x-k8s\.io$/, "a node that is to be replaced"],
  [/^create configmaps$/, "the allocation of the subnet"],
  [/^delete configmaps$/, "the subnet is free again"],
  [/^patch (roles|rolebindings)\./, "lets the API server read the admin kubeconfig"],
  [
    /^get secrets$/,
    "the CA, whose key is kept nowhere: to sign, also for our own hour in the tenant's API, and to compare",
  ],
  [/^patch secrets$/, "the admin kubeconfig is issued, or noted to be of its CA still"],
  [/^get events\./, "an existing Event, to increase its count"],
  [
    /^get configmaps$/,
    "a round of the shared storage: since when a pool has no organization; each 2 s in a stack",
  ],
  [/^(create|patch) events$/, "a transition, or an Event of Cluster API, recorded on the Marina Cluster"],
];

/** The reason for a request such as "patch clusters.cloud.marina.dev/status"; undefined = unexplained. */
export function reasonOf(request: string): string | undefined {
  return REASONS.find(([pattern]) => pattern.test(request))?.[1];
}
