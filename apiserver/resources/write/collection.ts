import { randomInt } from "node:crypto";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { QuotaAmounts } from "../../../shared/crd/quota.ts";
import type { Kind, KubeObject, ObjectMeta } from "../../../shared/kube/kind.ts";
import type { AuditEntry, KubernetesAuditConfig } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Preconditions } from "../../http/contract/etag.ts";
import { slugOf } from "../../http/contract/fields.ts";
import {
  type ProjectedObject,
  projectObservations,
  toProjectedCluster,
  toProjectedNodePool,
} from "../project/index.ts";
import type { WriteIntent } from "../table.ts";
import type { ObjectPatch } from "./kube-write.ts";

const KINDS = {
  Cluster: clusterKind,
  NodePool: nodePoolKind,
  ClusterAccess: clusterAccessKind,
} as const satisfies Record<WriteIntent["kind"], Kind<Cluster> | Kind<NodePool> | Kind<ClusterAccess>>;

/** The kind of an object that requests write, by the name that an intent stores. */
export function kindOf({ kind }: Pick<WriteIntent, "kind">): Kind<KubeObject> {
  return KINDS[kind] as unknown as Kind<KubeObject>;
}

/** The projected form of an object that was written; undefined for a ClusterAccess, which is not projected. */
export function projectWritten(
  { kind, orgId, parentId }: Pick<WriteIntent, "kind" | "orgId" | "parentId">,
  object: KubeObject,
): ProjectedObject | undefined {
  if (kind === "Cluster") return toProjectedCluster(object as Cluster, orgId);
  return kind === "NodePool" ? toProjectedNodePool(object as NodePool, orgId, parentId) : undefined;
}

/** An object by its public id and its place in the Kubernetes API. */
export interface ObjectRef {
  id: string;
  namespace: string;
  name: string;
  uid: string;
}

/** The objects of one kind and one parent, as a write has to know them; `P` is what a write returns. */
export interface Collection<T extends KubeObject, P extends ObjectRef> {
  kindName: WriteIntent["kind"];
  kind: Kind<T>;
  /** As messages call it: "node pool". */
  noun: string;
  /** As audit rows call it. */
  targetKind: "cluster" | "node_pool" | "cluster_access";
  orgId: string;
  /** Where names are unique. */
  parent: { noun: "organization" | "cluster"; id: string };
  /** The error for a name that is taken. */
  takenNameCode: "already_exists" | "validation_failed";
  /** The wire name of each setting, by its path inside `spec`. */
  wireNames: Readonly<Record<string, string>>;
  /** Converts the object to its projected form. */
  project: (object: T) => P;
  /** Brings the projection up to date with what was read or written, with the events that follow. */
  save: (tx: Queryable, state: ObjectState<P>, config: KubernetesAuditConfig) => Promise<unknown>;
}

/** An object as it was read or written, or that is deleted. */
interface ObjectState<P> {
  object: P;
  deleted: boolean;
}

/** What was written. */
export interface WriteResult<P, E> {
  projected: P;
  /** What else the write would do; only of a dry run. */
  effects: E | undefined;
}

/** The part of a request that every write has. */
export interface WriteRequest {
  /** The action in the audit row: `<resource>.<verb>`. */
  action: string;
  /** Every check is made, the result is computed, and nothing is stored. */
  dryRun?: boolean;
}

/** What a slice decides of a write. */
export interface WriteDecision<E> {
  /** What else must hold, in the transaction that commits the intent. Throws the refusal. */
  check?: ((tx: Queryable) => Promise<unknown>) | undefined;
  /** What else the write does; called by a dry run only. Throws what `check` would. */
  effects?: ((db: Queryable) => Promise<E>) | undefined;
}

/** What a slice decides, with what the audit row says. */
type AuditedDecision<E> = WriteDecision<E> & Pick<AuditEntry, "before" | "after">;

/** What to change of an object. Without a field of `spec` and without annotations nothing is written. */
export interface ChangeDecision<E> extends AuditedDecision<E>, Pick<ObjectPatch, "spec" | "annotations"> {
  /** The fields of `spec` that change, as dotted paths; default: the keys of `spec`. */
  fields?: readonly string[];
  /** The display name that the object takes; it must be free in the parent. */
  displayName?: string | undefined;
  /** What the object uses of the quotas afterwards; default nothing. */
  amounts?: QuotaAmounts;
}

export interface ChangeRequest<P, E> extends WriteRequest {
  preconditions?: Preconditions | undefined;
  /** Field manager of the patch; default `marina-apiserver`. */
  fieldManager?: string;
  /** Decides by the current object; called again when it has changed since. Throws the refusal. */
  decide: (current: P) => ChangeDecision<E>;
}

export interface DeleteRequest<P, E> extends WriteRequest {
  preconditions?: Preconditions | undefined;
  decide: (current: P) => AuditedDecision<E>;
}

/** One call of the Kubernetes API, and what goes with it. */
export interface ObjectWrite<T, E>
  extends WriteRequest,
    AuditedDecision<E>,
    Pick<ChangeDecision<E>, "displayName" | "amounts"> {
  verb: Exclude<WriteIntent["verb"], "create">;
  objectId: string;
  /** The metadata of the object that was read. */
  metadata: ObjectMeta;
  /** Undefined when the object has changed since it was read. */
  send: (options: { dryRun: boolean }) => Promise<{ object: T; deleted?: boolean } | undefined>;
}

/** For a deletion that no request asks for. */
export interface ScheduledOption<P> {
  /** What must hold of the current object, and what its audit row says. Throws when it is not to be deleted any more. */
  scheduled?: ((current: P) => Pick<WriteDecision<never>, "check"> & Pick<AuditEntry, "after">) | undefined;
}

/** Brings the projection up to date, with the events that follow; every replica serves the object afterwards. */
export async function saveProjection(
  tx: Queryable,
  state: ObjectState<ProjectedObject>,
  config: KubernetesAuditConfig,
): Promise<void> {
  await projectObservations(tx, [state], config);
}

/** The merge patch that makes a map of a `spec` another one: just what changes, a removed key as null. */
export function patchOfMap(
  current: Readonly<Record<string, string>> = {},
  desired: Readonly<Record<string, string>> = {},
): Record<string, string | null> {
  const removed = Object.keys(current).filter((key) => !Object.hasOwn(desired, key));
  const set = Object.entries(desired).filter(([key, value]) => current[key] !== value);
  return Object.fromEntries([...removed.map((key) => [key, null]), ...set]);
}

/** 34 characters of slug, a hyphen and 5 random characters make the 40 that a metadata.name may have. */
const MAX_SLUG_LENGTH = 34;
const RANDOM_LENGTH = 5;
const RANDOM_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/**
 * A new metadata.name for an object with a display name: its slug (`fallback` when the name has no Latin letter or
 * digit) and five random characters, without vowels.
 */
export function createObjectName(displayName: string, fallback: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () =>
    RANDOM_ALPHABET.charAt(randomInt(RANDOM_ALPHABET.length)),
  );
  return `${slugOf(displayName, MAX_SLUG_LENGTH) || fallback}-${random.join("")}`;
}
