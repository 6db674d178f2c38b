import type { KubeObject } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { readCapiCluster } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { clusterOfAuthority, nameKubeconfigSecret } from "../capi/secrets.ts";
import { isOwnerChanged } from "../identity/ownership.ts";
import { type AuthorityCaches, findAuthority } from "./authority.ts";

/**
 * Whether the owner, the endpoint or the availability of a tenant's API server changed. Every reconcile of an access
 * or of the bindings connects to it: no other change is worth that.
 */
export function isTenantChanged(change: Change<CapiCluster>): boolean {
  const { previous, object } = change;
  return isOwnerChanged(change) || previous === undefined || summarize(previous) !== summarize(object);
}

/**
 * The key of the cluster whose access depends on this Secret; undefined for another one, and for Cluster API's kubeconfig of a
 * cluster that has a CA.
 */
export function findChangedAuthority(caches: AuthorityCaches, { metadata }: KubeObject): string | undefined {
  const cluster = clusterOfAuthority(metadata);
  if (cluster === undefined) return undefined;
  const key = toKey(metadata.namespace, cluster);
  const isUnused =
    metadata.name === nameKubeconfigSecret(cluster) && findAuthority(caches, key)?.kind === "ca";
  return isUnused ? undefined : key;
}

function summarize(cluster: CapiCluster): string {
  const { endpoint, controlPlaneInitialized, controlPlaneSignal } = readCapiCluster(cluster);
  return `${endpoint?.url} ${controlPlaneInitialized} ${controlPlaneSignal}`;
}
