import type { Problem } from "../../shared/controller/conditions.ts";
import type { MetadataChange } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import {
  composeConfirmation,
  type Identified,
  type IdentityState,
  identityStateOf,
  idOf,
} from "../../shared/crd/identity.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_RECREATE,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Organization } from "../../shared/crd/organization.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { findOldest, isOlder, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { findSharing, type Store } from "../../shared/kube/store.ts";
import { INDEX_ID, INDEX_NAME } from "../indexes.ts";

type Named = Cluster | NodePool;

export function indexById(object: KubeObject): string[] {
  const id = idOf(object);
  return id === undefined ? [] : [id];
}

/** "namespace/name" of an older object with the same id. */
export function findOlderDuplicate(store: Store<KubeObject>, object: Identified): string | undefined {
  const { metadata } = object;
  const id = idOf(object);
  const sameId = id === undefined ? [] : store.byIndex(INDEX_ID, id);
  const older = findOldest(sameId.filter((other) => isOlder(other.metadata, metadata)))?.metadata;
  return older && `${older.namespace}/${older.name}`;
}

/** The other objects with the id of one that came or went: whether it is a duplicate may be otherwise now. */
export function findWithSameId<T extends KubeObject>(store: Store<T>, change: Change<T>): T[] {
  return findSharing(store, INDEX_ID, indexById, change);
}

/** Why the identity of an object keeps it from being reconciled; undefined = nothing does. */
export function findIdentityProblem(
  organization: Organization,
  olderDuplicate: string | undefined,
  identity: IdentityState = "accepted",
): Problem | undefined {
  if (organization.kind === "unknown") {
    const message = `The object belongs to no organization. ${ADVICE_BY_REASON.UnknownOrganization.kubectl}`;
    return { reason: "UnknownOrganization", message };
  }
  if (organization.kind === "duplicate") {
    const message = `The objects of this organization are in ${organization.namespace}, which is older; create the object there.`;
    return { reason: "DuplicateOrganization", message };
  }
  if (identity === "refused") {
    const message = `The object came with the id of another one. ${ADVICE_BY_REASON.DuplicateID.kubectl}`;
    return { reason: "DuplicateID", message };
  }
  if (olderDuplicate !== undefined) {
    const message = `An older object has the same id. ${ADVICE_BY_REASON.DuplicateID.kubectl}`;
    return { reason: "DuplicateID", message };
  }
  if (identity !== "unconfirmed") return undefined;
  const message = `The object came with an id, as from a backup, and waits until Marina's API server has looked that up. ${ADVICE_BY_REASON.WaitingForIdentity.kubectl}`;
  return { reason: "WaitingForIdentity", message };
}

/** How far a cluster or pool is with its id. What the operator runs already for this very object needs no confirmation. */
export function readIdentity(object: Identified, runs: boolean): IdentityState {
  const state = identityStateOf(object);
  return state === "unconfirmed" && runs ? "known" : state;
}

/** An object that is being deleted, without the operator's finalizer: it had nothing left, or somebody else removed it. */
export function isFinalized({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && !hasFinalizer(metadata);
}

/**
 * A pool whose machines may be made: it has the operator's finalizer, and its id is its own. One whose status has an id
 * stays one while a manifest that replaces the object leaves the finalizer out: admission then lets only Marina
 * delete the pool.
 */
export function mayBeMade(one: { pool: NodePool; machineDeployment: unknown }): boolean {
  const { pool, machineDeployment } = one;
  const identity = readIdentity(pool, machineDeployment !== undefined);
  const hasFinalizerOrId =
    hasFinalizer(pool.metadata) || (pool.status?.id !== undefined && !isDeleting(pool));
  return hasFinalizerOrId && identity !== "refused" && identity !== "unconfirmed";
}

/** What an object lacks of id, organization and finalizer; undefined = nothing. */
export function findMissingMetadata(
  { metadata }: Identified,
  organizationId: string,
  candidateId: string,
): MetadataChange | undefined {
  const labels = {
    ...(metadata.labels?.[LABEL_ID] === undefined && { [LABEL_ID]: candidateId }),
    ...(metadata.labels?.[LABEL_ORG_ID] === undefined && { [LABEL_ORG_ID]: organizationId }),
  };
  const change = { ...(Object.keys(labels).length > 0 && { labels }), ...findMissingFinalizer(metadata) };
  return Object.keys(change).length === 0 ? undefined : change;
}

/**
 * What is to change of the metadata of an object of a kind whose status holds the id. A new id is confirmed as new in the same
 * write, so that a crash before the status leaves nothing to wait for; once the status has the id the annotation is removed, for
 * in a backup it would be untrue.
 */
export function findIdentityChange(
  object: Identified,
  organizationId: string,
  candidateId: string,
): MetadataChange | undefined {
  const state = identityStateOf(object);
  const missing = findMissingMetadata(object, organizationId, candidateId);
  if (state === "none") {
    const confirmation = composeConfirmation("new", object);
    return { ...missing, annotations: { [ANNOTATION_IDENTITY]: confirmation } };
  }
  const isOver = state === "accepted" && object.metadata.annotations?.[ANNOTATION_IDENTITY] !== undefined;
  return isOver ? { ...missing, dropAnnotations: [ANNOTATION_IDENTITY] } : missing;
}

/** For an object that is not reconciled because of its identity: without the finalizer no user could delete it. */
export function findMissingFinalizer(metadata: ObjectMeta): { finalizer: string } | undefined {
  return hasFinalizer(metadata) ? undefined : { finalizer: FINALIZER };
}

export function hasFinalizer(metadata: ObjectMeta): boolean {
  return metadata.finalizers?.includes(FINALIZER) ?? false;
}

export function isDeleting({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Whether the operator may change nothing of this cluster and its node pools, and issue no access. A deletion is
 * carried out all the same: a hold protects a cluster from it. Admin kubeconfigs are still rotated and rights still
 * revoked.
 */
export function isSuspended(cluster: Cluster | undefined): boolean {
  return cluster?.spec.suspend === true && cluster.metadata.deletionTimestamp === undefined;
}

/** Whether the platform has asked for an empty cluster in the place of one that is lost. */
export function isRecreationRequested(cluster: Cluster): boolean {
  const id = idOf(cluster);
  return id !== undefined && cluster.metadata.annotations?.[ANNOTATION_RECREATE] === id;
}

/**
 * What its owner calls a cluster or pool. One that REST created has another name as an object, which its owner never
 * sees.
 */
export function displayNameOf({ metadata, spec }: Named): string {
  return spec.displayName ?? metadata.name;
}

/** Names are unique, ignoring case: a cluster's in its organization, a node pool's in its cluster. */
export function indexByName(object: Named): string[] {
  const { metadata, spec } = object;
  const name = displayNameOf(object).toLowerCase();
  const parent = "clusterName" in spec ? toKey(metadata.namespace, spec.clusterName) : metadata.namespace;
  return [`${parent} ${name}`];
}

/** Why an object that Cluster API does not know yet is not created: an older one has its name. Undefined = none has. */
export function findDuplicateName<T extends Named>(store: Store<T>, object: T): Problem | undefined {
  const [key = ""] = indexByName(object);
  const older = store
    .byIndex(INDEX_NAME, key)
    .find((other) => !isDeleting(other) && isOlder(other.metadata, object.metadata));
  if (older === undefined) return undefined;
  const name = displayNameOf(object);
  const message = `The name ${name} is taken by the older object ${older.metadata.name}; set another spec.displayName, or delete one of the two.`;
  return { reason: "DuplicateName", message };
}
