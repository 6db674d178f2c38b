import { isDeepStrictEqual } from "node:util";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { type NodePool, type NodePoolSpec, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { nodePoolRules } from "../../shared/crd/node-pool-rules.ts";
import { findNamedSettings, NODE_POOL_WIRE_NAMES, withWireNames } from "../../shared/crd/rest-words.ts";
import { findFaults, type RuleViolation } from "../../shared/crd/rule.ts";
import { findImmutableChanges } from "../http/contract/fields.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { type ProjectedNodePool, toProjectedNodePool } from "../resources/project/index.ts";
import { type Resource, saveProjection } from "../resources/write/index.ts";

export type MutablePoolField = keyof typeof NODE_POOL_WIRE_NAMES;

/** The node pools of one cluster. */
export function nodePoolsOf(orgId: string, clusterId: string): Resource<NodePool, ProjectedNodePool> {
  return {
    kindName: "NodePool",
    kind: nodePoolKind,
    noun: "node pool",
    targetKind: "node_pool",
    orgId,
    parent: { noun: "cluster", id: clusterId },
    takenNameCode: "validation_failed",
    wireNames: NODE_POOL_WIRE_NAMES,
    project(object) {
      const projected = toProjectedNodePool(object, orgId, clusterId);
      if (projected === undefined) throw new Error(`node pool ${object.metadata.name} has lost its id`);
      return projected;
    },
    save: saveProjection,
  };
}

/** Where a new object belongs, and the request that creates it. */
export interface ObjectPlace {
  orgId: string;
  namespace: string;
  clusterId: string;
  requestId: string;
}

/** A pool to create, with its id and object name. */
export interface NewNodePool {
  id: string;
  objectName: string;
  spec: NodePoolSpec;
}

/** The NodePool object to create. */
export function toNodePoolObject(place: ObjectPlace, pool: NewNodePool): NodePool {
  return {
    apiVersion: API_VERSION,
    kind: nodePoolKind.kind,
    metadata: {
      namespace: place.namespace,
      name: pool.objectName,
      labels: {
        [LABEL_ID]: pool.id,
        [LABEL_ORG_ID]: place.orgId,
        [LABEL_CLUSTER_ID]: place.clusterId,
      },
      annotations: { [ANNOTATION_REQUEST_ID]: place.requestId, [ANNOTATION_IDENTITY]: "new" },
      finalizers: [FINALIZER],
    },
    spec: pool.spec,
  };
}

/**
 * Every rule between a pool's fields that does not hold, for create and for the merged result of an update: the rules of
 * the custom resource, with wire names. A rule over the whole pool is reported at the first field that it names.
 */
export function checkPoolRules(spec: NodePoolSpec): ErrorDetail[] {
  return findFaults(nodePoolRules, spec).map(toDetail);
}

function toDetail({ field, code, message }: RuleViolation): ErrorDetail {
  const [first = "body"] = findNamedSettings(field === "" ? message : `spec.${field}`);
  return { field: first, code, message: withWireNames(message) };
}

/** The settings of a pool that PUT may change; `clusterName` and `nodeTaints` are fixed at creation. */
type MutablePoolSpec = Pick<NodePoolSpec, MutablePoolField>;

/**
 * A parsed PUT body: only what was sent is present; null is "no change" for the settings that have a platform
 * default. `fixed` holds, by wire name, the settings of creation that the body repeats.
 */
export interface NodePoolChange {
  settings: { [Field in MutablePoolField]?: MutablePoolSpec[Field] | null | undefined };
  fixed: { id?: unknown; cluster_id?: unknown; node_taints?: unknown };
}

/** What a merge needs to know of the current pool. */
interface CurrentPool extends Pick<ProjectedNodePool, "id" | "clusterId" | "displayName"> {
  object: { spec: NodePoolSpec };
}

type MergeResult =
  | { ok: true; changed: MutablePoolField[]; patch: Record<string, unknown>; merged: NodePoolSpec }
  | { ok: false; details: [ErrorDetail, ...ErrorDetail[]] };

const MUTABLE_FIELDS = Object.keys(NODE_POOL_WIRE_NAMES) as MutablePoolField[];

/**
 * Merges a PUT body with the current pool (spec 4.5): an omitted field keeps its value, null on a timeout or
 * scale-down setting changes nothing, a setting fixed at creation may be repeated but not changed, and the merged
 * result must hold every rule between fields. `patch` is the merge patch of `spec` with just the fields whose value
 * changes (a removed node label is null); it is empty when the body requests what is there already.
 */
export function mergeNodePoolUpdate(current: CurrentPool, change: NodePoolChange): MergeResult {
  const { spec } = current.object;
  const merged: NodePoolSpec = { ...spec, ...toSettings(change) };
  const fixed = { id: current.id, cluster_id: current.clusterId, node_taints: spec.nodeTaints ?? [] };
  const [first, ...others] = [...findImmutableChanges(fixed, change.fixed), ...checkPoolRules(merged)];
  if (first !== undefined) return { ok: false, details: [first, ...others] };

  const changed = MUTABLE_FIELDS.filter((field) => isChanged(current, merged, field));
  const patch = Object.fromEntries(changed.map((field) => [field, patchOf(spec, merged, field)]));
  return { ok: true, changed, patch, merged };
}

function toSettings({ settings }: NodePoolChange): Partial<MutablePoolSpec> {
  return Object.fromEntries(
    MUTABLE_FIELDS.map((field) => [field, settings[field]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
}

function isChanged(
  { displayName, object: { spec } }: CurrentPool,
  merged: NodePoolSpec,
  field: MutablePoolField,
): boolean {
  if (field === "displayName") return merged.displayName !== undefined && merged.displayName !== displayName;
  if (field === "nodeLabels") return !isDeepStrictEqual(merged.nodeLabels ?? {}, spec.nodeLabels ?? {});
  return merged[field] !== spec[field];
}

function patchOf(spec: NodePoolSpec, merged: NodePoolSpec, field: MutablePoolField): unknown {
  if (field !== "nodeLabels") return merged[field];
  const desired = merged.nodeLabels ?? {};
  const removed = Object.keys(spec.nodeLabels ?? {}).filter((key) => !Object.hasOwn(desired, key));
  const set = Object.entries(desired).filter(([key, value]) => spec.nodeLabels?.[key] !== value);
  return Object.fromEntries([...removed.map((key) => [key, null]), ...set]);
}
