import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { findNamespaceOrganization, type Organization } from "../../shared/crd/organization.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createId } from "../../shared/program/id.ts";
import type { Caches } from "../caches.ts";
import { findOlderDuplicate } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { findAccessSource, findHeldCa } from "../tenant/access.ts";
import { isSignedBy } from "../tenant/sign.ts";
import { findTenantEndpoint, type TenantEndpoint } from "../tenant/tenant.ts";

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
  tenant: TenantEndpoint | undefined;
  /** Cluster API has the cluster, and it is this platform's. */
  hasCapi: boolean;
  /** Its API server is up, it was ready, and both its CA and its kubeconfig are gone from Cluster API: nothing opens it any more. */
  lacksAccessSource: boolean;
  /** Its CA is not known to be that of the Cluster API cluster that is there now. */
  isCaUnsettled: boolean;
  /** A foreign Cluster API cluster has the name of its cluster. */
  nameTaken: boolean;
  /** The other accesses of the same subject to the same cluster. */
  siblings: readonly ClusterAccess[];
  /** Whether this process is issuing the access, and the cache does not show its certificate yet. */
  isIssuing: (access: ClusterAccess) => boolean;
  /** Whether the CA of an earlier cluster has signed its certificate. */
  isOutdated: (access: ClusterAccess) => boolean;
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
  const cluster = caches.clusters.get(clusterKey);
  const tenant = findTenantEndpoint(caches, clusterKey);
  const { capi, nameTaken } = findCapi(caches, clusterKey);
  const isSibling = (other: ClusterAccess) =>
    other.metadata.uid !== access.metadata.uid && other.spec.subject === access.spec.subject;
  return {
    access,
    organization: findNamespaceOrganization(caches.namespaces, namespace),
    olderDuplicate: findOlderDuplicate(caches.accesses, access),
    candidateId: createId(),
    cluster,
    tenant: tenant?.state.controlPlaneInitialized === true ? tenant : undefined,
    hasCapi: capi !== undefined,
    lacksAccessSource:
      capi?.state.controlPlaneInitialized === true &&
      cluster?.status?.firstReadyAt !== undefined &&
      findAccessSource(caches, clusterKey) === undefined,
    isCaUnsettled: findCa(caches, clusterKey, tenant)?.kind === "former",
    nameTaken,
    siblings: caches.accesses.byIndex(INDEX_CLUSTER, clusterKey).filter(isSibling),
    isIssuing: (other) => issuing.has(objectKey(other)),
    isOutdated: findOutdated(caches, clusterKey, tenant),
  };
}

/**
 * Whether an access to a cluster, "namespace/name", has a certificate that another CA has signed than the cluster's: that of an
 * earlier one in its place. None has, while the CA is not known. Each certificate is looked at once.
 */
export function findOutdated(
  caches: Caches,
  clusterKey: string,
  tenant = findTenantEndpoint(caches, clusterKey),
): (access: ClusterAccess) => boolean {
  const ca = findCa(caches, clusterKey, tenant);
  if (ca?.kind !== "current") return () => false;
  const signed = new Map<string, boolean>();
  return ({ status }) => {
    const { certificate } = status ?? {};
    if (certificate === undefined) return false;
    const isSigned = signed.get(certificate) ?? isSignedBy(certificate, ca.certificate);
    signed.set(certificate, isSigned);
    return !isSigned;
  };
}

function findCa(caches: Caches, clusterKey: string, tenant: TenantEndpoint | undefined) {
  return tenant && findHeldCa(caches.issuedCredentials.get(nameAdminSecret(clusterKey)), tenant);
}
