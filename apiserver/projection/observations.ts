import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { type ProjectedObject, toProjectedCluster, toProjectedNodePool } from "./project.ts";

/** What the projector holds of the Kubernetes API. `namespaces` is indexed by "org", the others by "namespace". */
export interface Caches {
  namespaces: Store<Namespace>;
  clusters: Store<Cluster>;
  nodePools: Store<NodePool>;
}

/** The organization of a namespace: its label, unless an older Namespace has the same one. */
export function findOrgId({ namespaces }: Pick<Caches, "namespaces">, namespace = ""): string | undefined {
  const own = namespaces.get(namespace);
  const orgId = own?.metadata.labels?.[LABEL_ORG_ID];
  if (own === undefined || orgId === undefined) return undefined;
  const isOldest = namespaces.byIndex("org", orgId).every((other) => other === own || isOlder(own, other));
  return isOldest ? orgId : undefined;
}

/** A Cluster as it has to be projected; undefined while it has no id or no organization. */
export function projectCluster(caches: Caches, cluster: Cluster): ProjectedObject | undefined {
  const orgId = findOrgId(caches, cluster.metadata.namespace);
  return orgId === undefined ? undefined : toProjectedCluster(cluster, orgId);
}

/** A NodePool as it has to be projected; undefined while it has no id, no organization or no cluster. */
export function projectNodePool(caches: Caches, pool: NodePool): ProjectedObject | undefined {
  const { namespace } = pool.metadata;
  const orgId = findOrgId(caches, namespace);
  const cluster = caches.clusters.get(toKey(namespace, pool.spec.clusterName));
  const clusterId = cluster?.metadata.labels?.[LABEL_ID];
  if (orgId === undefined || clusterId === undefined) return undefined;
  return toProjectedNodePool(pool, orgId, clusterId);
}

function isOlder(own: Namespace, other: Namespace): boolean {
  const age = ({ metadata }: Namespace) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`;
  return age(own) < age(other);
}
