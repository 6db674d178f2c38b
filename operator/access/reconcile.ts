import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { findIdentityFault, hasFinalizer, type Organization } from "../identity.ts";
import type { Fault } from "../runtime/conditions.ts";

/** How many accesses one subject may hold to one cluster at a time. */
export const MAX_LIVE_ACCESSES = 10;

/** All that is known about one access when it is reconciled: plain data, no client. */
export interface ObservedAccess {
  access: ClusterAccess;
  organization: Organization;
  /** An older access with the same id. */
  olderTwin: string | undefined;
  /** The Cluster that it opens, as long as there is one. */
  cluster: Cluster | undefined;
  /** The control plane has been up, and its address and CA are known. */
  reachable: boolean;
  /** The other accesses of the same subject to the same cluster. */
  siblings: readonly ClusterAccess[];
}

export type AccessDecision =
  /** Sign, where there is no certificate yet, and bind; it ends at `expiresAt`. */
  | { kind: "grant"; expiresAt: Date }
  /** Its time is over, or its cluster is gone: delete the object, which revokes it. */
  | { kind: "delete" }
  /** It is being deleted: take the right away, then let the object go. */
  | { kind: "revoke" }
  /** Nothing is left to do for it. */
  | { kind: "ignore" }
  | { kind: "wait"; reason: string; message: string; expiresAt: Date }
  | { kind: "refuse"; fault: Fault };

/** What to do for one access, from what was observed alone. */
export function reconcileAccess(observed: ObservedAccess, now: Date): AccessDecision {
  const { access, organization, cluster } = observed;
  const { metadata, spec, status } = access;
  if (metadata.deletionTimestamp !== undefined) {
    return { kind: hasFinalizer(metadata) ? "revoke" : "ignore" };
  }
  const expiresAt = findExpiry(access);
  if (expiresAt <= now) return { kind: "delete" };
  const fault = findIdentityFault(metadata.namespace ?? "", organization, observed.olderTwin);
  if (fault !== undefined) return { kind: "refuse", fault };
  const issued = status?.certificate !== undefined;
  const gone = cluster === undefined || cluster.metadata.deletionTimestamp !== undefined;
  if (gone && issued) return { kind: "delete" };
  if (gone) {
    const message = `There is no cluster ${spec.clusterName} in this namespace; create it, or delete this access.`;
    return { kind: "wait", reason: "WaitingForCluster", message, expiresAt };
  }
  if (observed.siblings.filter((other) => comesFirst(other, access, now)).length >= MAX_LIVE_ACCESSES) {
    const message = `${spec.subject} holds ${MAX_LIVE_ACCESSES} accesses to the cluster ${spec.clusterName}; delete one of them.`;
    return { kind: "refuse", fault: { reason: "TooManyAccesses", message } };
  }
  if (!observed.reachable) {
    const message = `The control plane of ${spec.clusterName} is not up yet; the access is given as soon as it is.`;
    return { kind: "wait", reason: "WaitingForControlPlane", message, expiresAt };
  }
  return { kind: "grant", expiresAt };
}

/** Counted from the creation: a lost status never prolongs an access. */
export function findExpiry({ metadata, spec }: ClusterAccess): Date {
  return new Date(Date.parse(metadata.creationTimestamp ?? "") + spec.ttlSeconds * 1000);
}

/** Whether an access still counts: neither over nor being deleted. */
export function isLive(access: ClusterAccess, now: Date): boolean {
  return access.metadata.deletionTimestamp === undefined && findExpiry(access) > now;
}

/** Those that were issued before those that wait, then by age. */
function comesFirst(other: ClusterAccess, own: ClusterAccess, now: Date): boolean {
  if (!isLive(other, now)) return false;
  const [left, right] = [other, own].map((access) => access.status?.certificate !== undefined);
  if (left !== right) return left === true;
  return ageOf(other) < ageOf(own);
}

function ageOf({ metadata }: ClusterAccess): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}
