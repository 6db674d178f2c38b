import { findCondition } from "../../../shared/controller/conditions.ts";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { idOf } from "../../../shared/crd/identity.ts";
import {
  ANNOTATION_REQUEST_ID,
  MANAGER_APISERVER_NETWORK,
  MANAGER_PREFIX,
} from "../../../shared/crd/names.ts";
import { DEFAULT_NODES, type NodePool, type NodePoolSpec } from "../../../shared/crd/node-pool.ts";
import { isAutoscaled } from "../../../shared/crd/node-pool-rules.ts";
import { addAmounts, occupiedAmounts, poolAmounts, type QuotaAmounts } from "../../../shared/crd/quota.ts";
import {
  holdsField,
  type KubeObject,
  type ManagedFieldsEntry,
  type ObjectMeta,
} from "../../../shared/kube/kind.ts";
import { toStorable } from "../../db/statement.ts";

/** Admission enforces this format of labels; an object that bypassed it is not served. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A custom resource in the form in which Postgres stores it. `object` has no managedFields; values derived from them are other fields. */
interface Projected<Kind extends KubeObject> {
  uid: string;
  /** The public id. */
  id: string;
  orgId: string;
  namespace: string;
  /** metadata.name */
  name: string;
  /** `name` in the REST API. */
  displayName: string;
  resourceVersion: bigint;
  updatedAt: Date;
  /** Managers of its spec fields other than Marina's programs. */
  externalWriters: ExternalWriter[];
  object: Kind;
}

export interface ProjectedCluster extends Projected<Cluster> {
  status: ClusterStatusName;
  networkUpdatedAt: Date;
}

export interface ProjectedNodePool extends Projected<NodePool> {
  status: NodePoolStatusName;
  clusterId: string;
}

export type ProjectedObject = ProjectedCluster | ProjectedNodePool;

/** Projects a Cluster of an organization; undefined while the object has no public id yet. */
export function toProjectedCluster(object: Cluster, orgId: string): ProjectedCluster | undefined {
  const cluster = toStorable(object);
  const common = projectCommon(cluster, orgId, cluster.spec.displayName);
  if (common === undefined) return undefined;
  return {
    ...common,
    status: clusterStatusOf(cluster),
    networkUpdatedAt: networkUpdatedAtOf(cluster.metadata),
  };
}

/** Projects a NodePool of a cluster; undefined while the object has no public id yet. */
export function toProjectedNodePool(
  object: NodePool,
  orgId: string,
  clusterId: string,
): ProjectedNodePool | undefined {
  const pool = toStorable(object);
  const common = projectCommon(pool, orgId, pool.spec.displayName);
  if (common === undefined) return undefined;
  return { ...common, status: nodePoolStatusOf(pool), clusterId };
}

export function isPool(object: ProjectedObject): object is ProjectedNodePool {
  return "clusterId" in object;
}

/** The id of the cluster, or of the cluster that the pool belongs to. */
export function clusterIdOf(object: ProjectedObject): string {
  return isPool(object) ? object.clusterId : object.id;
}

function projectCommon<Kind extends KubeObject>(
  object: Kind,
  orgId: string,
  displayName: string | undefined,
): Projected<Kind> | undefined {
  const { uid, namespace, name, resourceVersion } = object.metadata;
  const id = idOf(object)?.toLowerCase() ?? "";
  if (!UUID.test(id) || uid === undefined || namespace === undefined || resourceVersion === undefined)
    return undefined;
  return {
    uid,
    id,
    orgId,
    namespace,
    name,
    displayName: displayName ?? name,
    resourceVersion: BigInt(resourceVersion),
    updatedAt: updatedAtOf(object.metadata),
    externalWriters: externalWritersOf(object.metadata.managedFields),
    object: withoutManagedFields(object),
  };
}

function withoutManagedFields<Kind extends KubeObject>(object: Kind): Kind {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Paths whose manager has changed settings. A write by REST that only removes a field owns the request id alone. */
const SETTINGS_PATHS = [["f:spec"], ["f:metadata", "f:annotations", `f:${ANNOTATION_REQUEST_ID}`]];

/**
 * When the settings of an object changed last: the newest time of a manager of its spec, its creation at least. The annotations by
 * which REST requests something are those of its manager, and count too. Times have whole seconds, as the Kubernetes API writes them.
 */
function updatedAtOf(metadata: ObjectMeta): Date {
  return newestOf(metadata, ({ fieldsV1 }) => SETTINGS_PATHS.some((path) => holdsField(fieldsV1, path)));
}

/** When the network policy was last set by REST, which writes it under a separate field manager. */
function networkUpdatedAtOf(metadata: ObjectMeta): Date {
  return newestOf(metadata, (entry) => entry.manager === MANAGER_APISERVER_NETWORK);
}

function newestOf(metadata: ObjectMeta, counts: (entry: ManagedFieldsEntry) => boolean): Date {
  const times = (metadata.managedFields ?? [])
    .filter((entry) => entry.time !== undefined && counts(entry))
    .map((entry) => Date.parse(entry.time ?? ""));
  return new Date(Math.max(Date.parse(metadata.creationTimestamp ?? "") || 0, ...times));
}

export const CLUSTER_STATUSES = [
  "provisioning",
  "running",
  "upgrading",
  "degraded",
  "deleting",
  "failed",
] as const;
export type ClusterStatusName = (typeof CLUSTER_STATUSES)[number];

export const NODE_POOL_STATUSES = ["provisioning", "ready", "scaling", "deleting", "failed"] as const;
export type NodePoolStatusName = (typeof NODE_POOL_STATUSES)[number];

const CLUSTER_STATUS_BY_PHASE: Record<string, ClusterStatusName> = {
  Provisioning: "provisioning",
  Ready: "running",
  Scaling: "running",
  Upgrading: "upgrading",
  Degraded: "degraded",
  Deleting: "deleting",
  Failed: "failed",
};

const NODE_POOL_STATUS_BY_PHASE: Record<string, NodePoolStatusName> = {
  Provisioning: "provisioning",
  Ready: "ready",
  Scaling: "scaling",
  Deleting: "deleting",
  Failed: "failed",
};

/** Whether the operator has not reported on the current generation yet. */
function isUnobserved({ metadata, status }: Pick<Cluster | NodePool, "metadata" | "status">): boolean {
  return (status?.observedGeneration ?? 0) < (metadata.generation ?? 1);
}

/**
 * The status of a cluster in REST. An object with a deletionTimestamp is deleting before the operator reports it, one
 * without a phase is provisioning, and a running one that was given another version is upgrading.
 */
export function clusterStatusOf(
  cluster: Pick<Cluster, "metadata" | "status"> & { spec: Pick<Cluster["spec"], "version"> },
): ClusterStatusName {
  if (cluster.metadata.deletionTimestamp !== undefined) return "deleting";
  const status = CLUSTER_STATUS_BY_PHASE[cluster.status?.phase ?? "Provisioning"] ?? "provisioning";
  return status === "running" && isUnobserved(cluster) && isUpgrade(cluster) ? "upgrading" : status;
}

/**
 * The status of a node pool in REST, by the same rules as a cluster's. A change that the operator has not reported on
 * yet leaves no pool ready or failed: it is scaling, as during the change.
 */
export function nodePoolStatusOf(pool: Pick<NodePool, "metadata" | "status">): NodePoolStatusName {
  if (pool.metadata.deletionTimestamp !== undefined) return "deleting";
  if (isUnobserved(pool)) return pool.status?.firstReadyAt === undefined ? "provisioning" : "scaling";
  return NODE_POOL_STATUS_BY_PHASE[pool.status?.phase ?? "Provisioning"] ?? "provisioning";
}

/**
 * The settings of a pool, by default its own. While no manager sets its count any more (`CountReleased` in
 * shared/crd/conditions.ts) `desiredNodes` is the number of nodes that the pool keeps, instead of the default that is stored.
 */
export function withKeptNodes(
  { spec: own, status }: Pick<NodePool, "spec" | "status">,
  spec = own,
): NodePoolSpec {
  const isDefault = [own, spec].every(({ desiredNodes }) => desiredNodes === DEFAULT_NODES);
  const isKept = findCondition(status?.conditions, "Scaling")?.reason === "CountReleased";
  if (!isDefault || !isKept || isAutoscaled(own)) return spec;
  return { ...spec, desiredNodes: status?.nodes ?? spec.desiredNodes };
}

/** What a pool uses of the quotas with these settings, by default its own: what it is then to have, and what its machines hold in addition. */
export function quotaUseOf(pool: NodePool, spec = pool.spec): QuotaAmounts {
  const desired = poolAmounts(withKeptNodes(pool, spec));
  return addAmounts(desired, occupiedAmounts(pool, desired));
}

/**
 * What an object waits for, or what went wrong and how to fix it, as the operator program words it; undefined = nothing is
 * under way.
 */
export function statusMessageOf(object: Pick<Cluster | NodePool, "metadata" | "status">): string | undefined {
  const { metadata, status } = object;
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const wasSeenDeleting = status?.phase === "Deleting";
  if (isDeleting && !wasSeenDeleting) return "The deletion was accepted and begins within moments.";
  if (!isDeleting && isUnobserved(object))
    return "The request was accepted and is carried out within moments.";
  if (status?.message !== undefined) return status.message;
  const reconciling = findCondition(status?.conditions, "Reconciling");
  return reconciling?.status === "True" ? reconciling.message : undefined;
}

/** MAJOR.MINOR is another version only when it is another minor. */
function isUpgrade({ spec, status }: Parameters<typeof clusterStatusOf>[0]): boolean {
  const wanted = spec.version.replace(/^v/, "");
  const target = (status?.targetVersion ?? status?.version)?.replace(/^v/, "");
  return target !== undefined && target !== wanted && !target.startsWith(`${wanted}.`);
}

/** The spec fields of an object that a direct Kubernetes client manages, according to managedFields. */
export interface ExternalWriter {
  manager: string;
  operation: "Apply" | "Update";
  time: string;
  /** Fields of the spec, first level, in alphabetical order. */
  fields: string[];
}

/** One change by an external writer: its manager, and the values of the fields before and after. */
export interface ExternalChange {
  manager: string;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

type Spec = Readonly<Record<string, unknown>>;

/** All managers of spec fields except the platform, the latest writer last. */
export function externalWritersOf(managedFields: readonly ManagedFieldsEntry[] = []): ExternalWriter[] {
  return managedFields
    .filter(({ manager, subresource }) => subresource !== "status" && !isOwn(manager, subresource))
    .map(({ manager, operation, time = "", fieldsV1 }) => ({
      manager,
      operation,
      time,
      fields: fieldsOf(fieldsV1?.["f:spec"]),
    }))
    .filter(({ fields }) => fields.length > 0)
    .sort((left, right) => left.time.localeCompare(right.time));
}

/** The creation of an object by its first external writer; undefined when there is none. */
export function findExternalCreation(after: {
  writers: readonly ExternalWriter[];
  spec: Spec;
}): ExternalChange | undefined {
  const [first] = after.writers;
  if (first === undefined) return undefined;
  return { manager: first.manager, before: {}, after: pick(after.spec, first.fields) };
}

/**
 * Writes of the platform's own programs are audited where they are made. Admission cannot see the manager of a write to
 * the scale subresource, which they never use.
 */
function isOwn(manager: string, subresource: string | undefined): boolean {
  return manager.startsWith(MANAGER_PREFIX) && subresource === undefined;
}

function fieldsOf(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.keys(node)
    .filter((key) => key.startsWith("f:"))
    .map((key) => key.slice(2))
    .sort((left, right) => left.localeCompare(right));
}

function pick(spec: Spec, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter((field) => spec[field] !== undefined).map((field) => [field, spec[field]]),
  );
}
