import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { type Resource, saveProjection } from "../custom-resources/index.ts";
import { type ProjectedNodePool, toProjectedNodePool } from "../projection/index.ts";
import { WIRE_NAMES } from "./wire-names.ts";

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
    wireNames: WIRE_NAMES,
    project(object) {
      const projected = toProjectedNodePool(object, orgId, clusterId);
      if (projected === undefined) throw new Error(`node pool ${object.metadata.name} has lost its id`);
      return projected;
    },
    save: saveProjection,
  };
}
