import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { type ProjectedNodePool, toProjectedNodePool } from "../resources/project/index.ts";
import { type Resource, saveProjection } from "../resources/write/index.ts";

/** The wire name of each setting of a pool that PUT may change. */
export const WIRE_NAMES = {
  displayName: "name",
  vcpus: "vcpus",
  memoryGB: "memory_gb",
  diskGB: "disk_gb",
  minNodes: "min_nodes",
  maxNodes: "max_nodes",
  desiredNodes: "desired_nodes",
  minVCPUs: "min_vcpus",
  maxVCPUs: "max_vcpus",
  minMemoryGB: "min_memory_gb",
  maxMemoryGB: "max_memory_gb",
  nodeLabels: "node_labels",
  drainTimeoutSeconds: "drain_timeout_seconds",
  scaleDownDelaySeconds: "scale_down_delay_seconds",
  scaleDownUtilizationPercent: "scale_down_utilization_percent",
} as const;

export type MutablePoolField = keyof typeof WIRE_NAMES;

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

/** The wire names of the settings that a text mentions by their names in the custom resource, in order. */
export function findWireNames(text: string): string[] {
  return text.match(/\w+/g)?.flatMap((word) => (isField(word) ? [WIRE_NAMES[word]] : [])) ?? [];
}

/** A text about the custom resource, with the wire names of its settings. */
export function toWireText(text: string): string {
  return text.replaceAll(/\w+/g, (word) => (isField(word) ? WIRE_NAMES[word] : word));
}

function isField(word: string): word is MutablePoolField {
  return Object.hasOwn(WIRE_NAMES, word);
}
