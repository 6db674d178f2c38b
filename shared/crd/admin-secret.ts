/** A dot is in no name of a Secret of Cluster API's own, "<cluster>-kubeconfig", "-ca", "-etcd", "-proxy", "-sa". */
const SUFFIX = ".admin-kubeconfig.cloud.marina.dev";

/**
 * The name of the Secret with a cluster's admin kubeconfig; of "namespace/cluster" it makes "namespace/name". It is the
 * name of no Secret of Cluster API, whatever the clusters are called.
 */
export function nameAdminSecret(cluster: string): string {
  return `${cluster}${SUFFIX}`;
}

/** The cluster that an admin kubeconfig, or the right to read it, belongs to; undefined for another name. */
export function clusterOfAdminSecret(name: string): string | undefined {
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : undefined;
}

/** The name of the Secret with the token of an access, by the public id of the access. */
export function nameTokenSecret(accessId: string): string {
  return `${accessId}.access-token.cloud.marina.dev`;
}
