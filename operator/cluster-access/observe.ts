import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { findNamespaceOrganization, type Organization } from "../../shared/crd/organization.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createId } from "../../shared/program/id.ts";
import type { Caches } from "../caches.ts";
import { findOlderDuplicate } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { findTenant, type Tenant } from "../tenant/tenant.ts";

/** All that is known about one access when it is reconciled: plain data, no client. */
export interface ObservedAccess {
  access: ClusterAccess;
  organization: Organization;
  /** An older access with the same id. */
  olderDuplicate: string | undefined;
  /** The id that the access gets when it has none. */
  candidateId: string;
  /** The Cluster that it gives access to, while it exists. */
  cluster: Cluster | undefined;
  /** Its API server; undefined until it has an endpoint, a CA and an initialized control plane. */
  tenant: Tenant | undefined;
  /** A foreign Cluster API cluster has the name of its cluster. */
  nameTaken: boolean;
  /** The other accesses of the same subject to the same cluster. */
  siblings: readonly ClusterAccess[];
  /** Whether this process is issuing the access, and the cache does not show its certificate yet. */
  isIssuing: (access: ClusterAccess) => boolean;
}

/** Gathers an access from the caches; undefined = it is deleted. `issuing`: keys of those that are being issued. */
export function observeAccess(
  caches: Caches,
  issuing: ReadonlySet<string>,
  key: string,
): ObservedAccess | undefined {
  const access = caches.accesses.get(key);
  if (access === undefined) return undefined;
  const { namespace } = access.metadata;
  const clusterKey = `${namespace}/${access.spec.clusterName}`;
  const tenant = findTenant(caches, clusterKey);
  const isSibling = (other: ClusterAccess) =>
    other.metadata.uid !== access.metadata.uid && other.spec.subject === access.spec.subject;
  return {
    access,
    organization: findNamespaceOrganization(caches.namespaces, namespace),
    olderDuplicate: findOlderDuplicate(caches.accesses, access),
    candidateId: createId(),
    cluster: caches.clusters.get(clusterKey),
    tenant: tenant?.state.controlPlaneInitialized === true ? tenant : undefined,
    nameTaken: findCapi(caches, clusterKey).nameTaken,
    siblings: caches.accesses.byIndex(INDEX_CLUSTER, clusterKey).filter(isSibling),
    isIssuing: (other) => issuing.has(objectKey(other)),
  };
}
