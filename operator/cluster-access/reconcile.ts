import type { Problem } from "../../shared/controller/conditions.ts";
import { referTo } from "../../shared/controller/event-object.ts";
import type { MetadataChange } from "../../shared/controller/plan.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import {
  type ClusterAccess,
  clusterAccessKind,
  composeAccessConfirmation,
  confirmationOf,
  findExpiry,
  hasConfirmation,
  isIssued,
  isUserId,
} from "../../shared/crd/cluster-access.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { findRestoredAt, idOf } from "../../shared/crd/identity.ts";
import { ANNOTATION_IDENTITY, LABEL_CLUSTER_ID, LABEL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import { isOlder } from "../../shared/kube/object.ts";
import { CLOCK_SKEW_MS } from "../../shared/program/time.ts";
import {
  displayNameOf,
  findIdentityProblem,
  findMissingMetadata,
  hasFinalizer,
  isDeleting,
  isRecreationRequested,
  isSuspended,
} from "../identity/identity.ts";
import { composeNameTaken } from "../identity/ownership.ts";
import type { TenantEndpoint } from "../tenant/tenant.ts";
import type { ObservedAccess } from "./observe.ts";

/** How many accesses one subject may hold to one cluster at a time. */
export const MAX_LIVE_ACCESSES = 10;

/** An access that can be issued or revoked in its tenant cluster. */
export interface GrantTarget {
  id: string;
  cluster: Cluster;
  tenant: TenantEndpoint;
}

export type AccessDecision =
  /** Sign, unless there is a certificate, and bind; it ends at `expiresAt`. */
  | { kind: "grant"; target: GrantTarget; expiresAt: Date }
  /** It has expired, or its cluster is deleted: delete the object, which revokes it. */
  | { kind: "delete" }
  /** It is being deleted: remove the binding (undefined = there is none), then the finalizer. */
  | { kind: "revoke"; target: GrantTarget | undefined }
  /** There is nothing to do for it until it ends, if ever. */
  | { kind: "ignore"; expiresAt?: Date }
  /** Id, organization and finalizer first: a right without an object could never be revoked. */
  | { kind: "label"; metadata: MetadataChange; expiresAt: Date }
  | { kind: "wait"; reason: string; message: string; expiresAt: Date | undefined }
  | { kind: "reject"; problem: Problem; expiresAt: Date };

/** Decides what to do for one access. */
export function reconcileAccess(observed: ObservedAccess, now: Date): AccessDecision {
  const { access, organization, cluster, tenant } = observed;
  const { metadata, spec } = access;
  if (isDeleting(access)) {
    return hasFinalizer(metadata) ? decideRevocation(observed, now) : { kind: "ignore" };
  }
  const expiresAt = findExpiry(access);
  if (expiresAt <= now) return { kind: "delete" };
  const problem = findIdentityProblem(organization, observed.olderDuplicate);
  if (problem !== undefined || organization.kind !== "known") {
    return problem === undefined ? { kind: "ignore" } : { kind: "reject", problem, expiresAt };
  }
  const confirmation = confirmationOf(access);
  if (confirmation === "refused") return { kind: "reject", problem: composeRefusal(access), expiresAt };
  if (confirmation === "unconfirmed") {
    const message = `The access waits until Marina's API server has looked up ${spec.subject} among the members of the organization. ${ADVICE_BY_REASON.WaitingForIdentity.kubectl}`;
    return { kind: "wait", reason: "WaitingForIdentity", message, expiresAt };
  }
  if (cluster === undefined || isDeleting(cluster)) {
    if (isIssued(access)) return { kind: "delete" };
    const message = `There is no cluster ${spec.clusterName} in this organization; create it, or delete this access.`;
    return { kind: "wait", reason: "WaitingForCluster", message, expiresAt };
  }
  const name = displayNameOf(cluster);
  if (observed.siblings.filter((other) => comesFirst(other, observed, now)).length >= MAX_LIVE_ACCESSES) {
    const message = `${spec.subject} holds ${MAX_LIVE_ACCESSES} accesses to the cluster ${name}; delete one of them.`;
    return { kind: "reject", problem: { reason: "TooManyAccesses", message }, expiresAt };
  }
  if (observed.nameTaken) {
    return {
      kind: "wait",
      reason: "WaitingForCluster",
      message: composeNameTaken(spec.clusterName).message,
      expiresAt,
    };
  }
  if (tenant === undefined && observed.lacksAccessSource) {
    const message = `The certificate authority of ${name} and its kubeconfig are lost; the access is issued once one of the two is restored. ${ADVICE_BY_REASON[INFRASTRUCTURE_LOST].kubectl}`;
    return { kind: "wait", reason: INFRASTRUCTURE_LOST, message, expiresAt };
  }
  if (tenant === undefined) {
    const message = `The control plane of ${name} is not up yet; the access is issued as soon as it is.`;
    return { kind: "wait", reason: "WaitingForControlPlane", message, expiresAt };
  }
  if (observed.isOutdated(access)) {
    const message = `The cluster ${name} was made anew after this access was issued, and its kubeconfig opens nothing any more. Delete this access, and have another one issued.`;
    return { kind: "reject", problem: { reason: "ClusterRecreated", message }, expiresAt };
  }
  if (observed.isCaUnsettled) {
    const message = `The certificate authority of ${name} is being looked up; the access is issued as soon as it is known.`;
    return { kind: "wait", reason: "WaitingForControlPlane", message, expiresAt };
  }
  const missing = findMissing(observed, organization.id);
  if (missing !== undefined) return { kind: "label", metadata: missing, expiresAt };
  if (isSuspended(cluster)) {
    if (isIssued(access)) return { kind: "ignore", expiresAt };
    const message = `The cluster ${name} is suspended; the access is issued when it is resumed.`;
    return { kind: "wait", reason: "ClusterSuspended", message, expiresAt };
  }
  // Its bill begins with the first readiness.
  if (cluster.status?.firstReadyAt === undefined && !isIssued(access)) {
    const message = `The cluster ${name} has not been ready yet; the access is issued as soon as it is.`;
    return { kind: "wait", reason: "WaitingForCluster", message, expiresAt };
  }
  const target = { id: metadata.labels?.[LABEL_ID] ?? "", cluster, tenant };
  return { kind: "grant", target, expiresAt };
}

function composeRefusal({ spec }: ClusterAccess): Problem {
  const message = `${spec.subject} is no member of the organization with a right to its clusters, or this access has ended before; delete it, and have a kubeconfig issued by the API.`;
  return { reason: "AccessRefused", message };
}

/**
 * An access that may be issued is annotated before: the annotation of a REST access, which names no object yet, would
 * be untrue in a backup of it. What an earlier version issued is not annotated.
 */
function findMissing({ access, candidateId }: ObservedAccess, organizationId: string) {
  const missing = findMissingMetadata(access, organizationId, candidateId);
  if (hasConfirmation(access)) return missing;
  if (!isIssued(access))
    return { ...missing, annotations: { [ANNOTATION_IDENTITY]: composeAccessConfirmation(access) } };
  const isAnnotated = access.metadata.annotations?.[ANNOTATION_IDENTITY] !== undefined;
  return isAnnotated ? { ...missing, dropAnnotations: [ANNOTATION_IDENTITY] } : missing;
}

/**
 * A duplicate's binding is the older one's. A cluster that is deleted takes its bindings with it, and one that is made anew has
 * none of them. Any other may come back with all that its etcd holds: an access to it stays until its rights there are ended.
 */
function decideRevocation(observed: ObservedAccess, now: Date): AccessDecision {
  const { access, cluster, tenant, hasCapi, olderDuplicate } = observed;
  const id = access.metadata.labels?.[LABEL_ID];
  const nothing = { kind: "revoke", target: undefined } as const;
  if (cluster === undefined || id === undefined || olderDuplicate !== undefined) return nothing;
  if (tenant !== undefined) return { kind: "revoke", target: { id, cluster, tenant } };
  const mayReturn = !isDeleting(cluster) && !isRecreationRequested(cluster) && mayHaveAccesses(cluster);
  if (!mayReturn || !mayHaveRights(access, now)) return nothing;
  const name = displayNameOf(cluster);
  const end = findExpiry(access);
  const expiresAt = end > now ? end : undefined;
  if (hasCapi && !observed.lacksAccessSource) {
    const message = `The API server of ${name} is not up; the rights of this access are taken away there as soon as it is.`;
    return { kind: "wait", reason: "WaitingForControlPlane", message, expiresAt };
  }
  const lost = observed.lacksAccessSource
    ? `The certificate authority of ${name} and its kubeconfig are lost, so that nothing opens its API server, where the rights of this access may still be used: they are taken away once one of the two is restored.`
    : `The cluster ${name} is lost, and may come back with the rights of this access: they are taken away then.`;
  const message = `${lost} The access is gone at once when the cluster is made anew or deleted. ${ADVICE_BY_REASON[INFRASTRUCTURE_LOST].kubectl}`;
  return { kind: "wait", reason: INFRASTRUCTURE_LOST, message, expiresAt };
}

/** Before a cluster was ready for the first time nothing is issued in it; a restored one may have lost its status. */
function mayHaveAccesses(cluster: Cluster): boolean {
  return cluster.status?.firstReadyAt !== undefined || findRestoredAt(cluster) !== undefined;
}

/**
 * Whether a cluster that comes back may hold rights of an access that is being deleted. After its end its certificate opens
 * nothing, but a person may be let in under the name that the tenant has bound. A restored one has lost what was issued.
 */
function mayHaveRights(access: ClusterAccess, now: Date): boolean {
  if (!isIssued(access) && findRestoredAt(access) === undefined) return false;
  return findExpiry(access) > now || (isUserId(access.spec.subject) && wasRevoked(access, now));
}

/** Whether an access that is being deleted was taken away before its end, at which it is deleted anyway. */
export function wasRevoked(access: ClusterAccess, now: Date): boolean {
  const end = findExpiry(access).getTime();
  return end > now.getTime() || Date.parse(access.metadata.deletionTimestamp ?? "") + CLOCK_SKEW_MS < end;
}

/** Whether an access may be in force: neither expired, nor being deleted, nor refused, as what was revoked before a backup is. */
export function isLive(access: ClusterAccess, now: Date): boolean {
  return !isDeleting(access) && findExpiry(access) > now && confirmationOf(access) !== "refused";
}

/** Issued accesses, and those that are being issued, before waiting ones, then by age. What may not be issued counts for none. */
function comesFirst(other: ClusterAccess, observed: ObservedAccess, now: Date): boolean {
  const { access: own, isIssuing, isOutdated } = observed;
  if (!isLive(other, now) || confirmationOf(other) !== "confirmed" || isOutdated(other)) return false;
  const [left, right] = [other, own].map((access) => isIssued(access) || isIssuing(access));
  if (left !== right) return left === true;
  return isOlder(other.metadata, own.metadata);
}

/** Records an Event for the users of a cluster: an access to it was taken away, once its rights there have ended. */
export function composeRevocationEvents(
  access: ClusterAccess,
  target: GrantTarget | undefined,
  now: Date,
): RecordedEvent[] {
  if (target === undefined || isDeleting(target.cluster) || !wasRevoked(access, now)) return [];
  const note = `An access${whoseIs(access)} was revoked: its kubeconfig is refused, and bindings that named it do so no longer.`;
  return [composeEvent(access, target.cluster, { reason: "AccessRevoked", note })];
}

/** Records an Event for the users of a cluster: an access to it ended while it waited, as for the cluster's first readiness. */
export function composeExpiryEvents(access: ClusterAccess, cluster: Cluster | undefined): RecordedEvent[] {
  if (cluster === undefined || isDeleting(cluster) || isIssued(access)) return [];
  if (confirmationOf(access) !== "confirmed") return [];
  const note = `An access${whoseIs(access)} ended before it could be issued: its time counts from its creation. Create another once the cluster is ready, or one that lasts longer.`;
  return [composeEvent(access, cluster, { reason: "AccessExpired", note })];
}

/** An id tells its readers nothing. */
function whoseIs({ spec }: ClusterAccess): string {
  return isUserId(spec.subject) ? "" : ` of ${spec.subject}`;
}

function composeEvent(
  access: ClusterAccess,
  cluster: Cluster,
  what: Pick<RecordedEvent, "reason" | "note">,
): RecordedEvent {
  return {
    regarding: referTo(clusterKind, cluster.metadata),
    related: referTo(clusterAccessKind, access.metadata),
    type: "Normal",
    action: "Delete",
    ...what,
    labels: { [LABEL_SOURCE]: "operator", [LABEL_CLUSTER_ID]: idOf(cluster) ?? "" },
  };
}
