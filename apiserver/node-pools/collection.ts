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
import { findViolations, type RuleViolation } from "../../shared/crd/rule.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { type ProjectedNodePool, toProjectedNodePool } from "../resources/project/index.ts";
import { type Collection, saveProjection } from "../resources/write/index.ts";

/** The node pools of one cluster. */
export function nodePoolsOf(orgId: string, clusterId: string): Collection<NodePool, ProjectedNodePool> {
  return {
    kindName: "NodePool",
    kind: nodePoolKind,
    noun: "node pool",
    targetKind: "node_pool",
    orgId,
    parent: { noun: "cluster", id: clusterId },
    takenNameCode: "validation_failed",
    wireNames: { ...NODE_POOL_WIRE_NAMES, nodeTaints: "node_taints" },
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
 * Every rule between a pool's fields that does not hold, for create and for the merged result of an update: the rules
 * of the custom resource, with wire names. A rule over the whole pool is reported at the first field that it names.
 */
export function findPoolViolations(spec: NodePoolSpec): ErrorDetail[] {
  return findViolations(nodePoolRules, spec).map(toDetail);
}

function toDetail({ field, code, message }: RuleViolation): ErrorDetail {
  const [first = "body"] = findNamedSettings(field === "" ? message : `spec.${field}`);
  return { field: first, code, message: withWireNames(message) };
}
