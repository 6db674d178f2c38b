import type { Cluster } from "../../../shared/crd/cluster.ts";
import { identityStateOf, idOf } from "../../../shared/crd/identity.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { findNamespaceOrganization } from "../../../shared/crd/organization.ts";
import type { Namespace } from "../../../shared/kube/core-kinds.ts";
import { toKey } from "../../../shared/kube/object.ts";
import type { Store } from "../../../shared/kube/store.ts";
import { type ProjectedObject, toProjectedCluster, toProjectedNodePool } from "./project.ts";

/**
 * The projector's caches of the Kubernetes API. `namespaces` is indexed by INDEX_ORGANIZATION, the others by "namespace", and
 * `nodePools` also by "cluster".
 */
export interface Caches {
  namespaces: Store<Namespace>;
  clusters: Store<Cluster>;
  nodePools: Store<NodePool>;
}

export function isNodePool(object: Cluster | NodePool): object is NodePool {
  return "clusterName" in object.spec;
}

/** The organization of a namespace; undefined when it has none, or an older Namespace has the same label. */
export function findOrgId({ namespaces }: Pick<Caches, "namespaces">, namespace = ""): string | undefined {
  const organization = findNamespaceOrganization(namespaces, namespace);
  return organization.kind === "known" ? organization.id : undefined;
}

/** The projection of a Cluster; undefined while it has no id or no organization. */
export function projectCluster(caches: Caches, cluster: Cluster): ProjectedObject | undefined {
  const orgId = findOrgId(caches, cluster.metadata.namespace);
  return orgId === undefined ? undefined : toProjectedCluster(cluster, orgId);
}

/**
 * The projection of a NodePool; undefined while it has no id, no organization or no cluster, and while the records have
 * not confirmed the id of its cluster.
 */
export function projectNodePool(caches: Caches, pool: NodePool): ProjectedObject | undefined {
  const { namespace } = pool.metadata;
  const orgId = findOrgId(caches, namespace);
  const cluster = caches.clusters.get(toKey(namespace, pool.spec.clusterName));
  const clusterId = cluster && findConfirmedId(cluster);
  if (orgId === undefined || clusterId === undefined) return undefined;
  return toProjectedNodePool(pool, orgId, clusterId);
}

/** The id of a cluster; undefined while the records have not confirmed that it has it, and where they refused it. */
export function findConfirmedId(cluster: Cluster): string | undefined {
  const state = identityStateOf(cluster);
  return state === "unconfirmed" || state === "refused" ? undefined : idOf(cluster);
}
