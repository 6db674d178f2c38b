import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import type { RbacRole, RoleBinding, Secret } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { nameCaSecret } from "../capi/secrets.ts";
import { hasFinalizer, isDeleting } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { revisionOf } from "../tenant/access.ts";
import type { ServiceAccountName } from "../tenant/secret-role.ts";
import { findTenantEndpoint, type TenantEndpoint } from "../tenant/tenant.ts";
import { isCaLost } from "./kubeconfig.ts";

/** All that is known about the admin kubeconfig of one cluster when it is reconciled: plain data, no client. */
export interface ObservedAdminKubeconfig {
  cluster: Cluster;
  clusterId: string;
  /** Who may read the kubeconfig. */
  apiserver: ServiceAccountName;
  role: RbacRole | undefined;
  roleBinding: RoleBinding | undefined;
  /** The issued kubeconfig, trimmed; one of another Cluster (before a restore) does not count. */
  credential: Secret | undefined;
  /** Undefined until there are an endpoint and a CA. */
  tenant: TenantEndpoint | undefined;
}

/**
 * Gathers it from the caches; undefined for a cluster without finalizer, for one that is being deleted, and for a taken
 * name. A suspended one is kept current: a right that has ended must end there as well.
 */
export function observeAdminKubeconfig(
  caches: Caches,
  apiserver: ServiceAccountName,
  key: string,
): ObservedAdminKubeconfig | undefined {
  const cluster = caches.clusters.get(key);
  const clusterId = cluster && idOf(cluster);
  if (cluster === undefined || clusterId === undefined) return undefined;
  if (!hasFinalizer(cluster.metadata) || isDeleting(cluster)) return undefined;
  if (findCapi(caches, key).nameTaken) return undefined;
  const secretKey = nameAdminSecret(key);
  const credential = caches.issuedCredentials.get(secretKey);
  // The garbage collector deletes a credential that belongs to the Cluster of before a restore.
  const isOwned = credential?.metadata.ownerReferences?.some(({ uid }) => uid === cluster.metadata.uid);
  return {
    cluster,
    clusterId,
    apiserver,
    role: caches.roles.get(secretKey),
    roleBinding: caches.roleBindings.get(secretKey),
    credential: isOwned ? credential : undefined,
    tenant: isCaGone(caches, key) ? undefined : findTenantEndpoint(caches, key),
  };
}

/** Without this, a kubeconfig that the tenant issues would take the place of the one that shows which CA is lost. */
function isCaGone(caches: Caches, key: string): boolean {
  return caches.clusterSecrets.get(nameCaSecret(key)) === undefined && hasLostCa(caches, key);
}

/** Whether the CA of a cluster is lost: its Secret is gone, or holds another one. */
export function hasLostCa(
  caches: Pick<Caches, "clusters" | "capiClusters" | "clusterSecrets" | "issuedCredentials">,
  key: string,
): boolean {
  const capiUid = findCapi(caches, key).capi?.object.metadata.uid;
  const ca = caches.clusterSecrets.get(nameCaSecret(key));
  return isCaLost(caches.issuedCredentials.get(nameAdminSecret(key)), capiUid, ca && revisionOf(ca.metadata));
}

/** The accesses to a cluster. */
export function observeAccesses(caches: Caches, key: string): ClusterAccess[] {
  return caches.accesses.byIndex(INDEX_CLUSTER, key);
}
