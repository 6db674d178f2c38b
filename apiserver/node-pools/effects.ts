import type { NodePool, NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { autoscalingRange, isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { BilledPool } from "../billing/index.ts";
import { withKeptNodes } from "../resources/project/index.ts";
import type { NodeEffects } from "./schema.ts";

const NO_NODES: NodeEffects = { nodes_replaced: 0, nodes_added: 0, nodes_removed: 0 };

/** The nodes of a new pool: a fixed one gets desired_nodes, an autoscaled one starts at its minimum. */
export function effectsOfCreate(spec: NodePoolSpec): NodeEffects {
  return {
    ...NO_NODES,
    nodes_added: firstNodesOf(spec),
  };
}

/**
 * The effect of changed settings on nodes. Another node size replaces the nodes that stay; an autoscaled pool scales
 * only as far as its range requires; labels, timeouts and names have no effect.
 */
export function effectsOfUpdate(before: NodePool, after: NodePoolSpec): NodeEffects {
  const current = countNodes(before);
  const desired = countNodesAfter(before, after);
  const isResized = (["vcpus", "memoryGB", "diskGB"] as const).some(
    (field) => before.spec[field] !== after[field],
  );
  return {
    nodes_replaced: isResized ? Math.min(current, desired) : 0,
    nodes_added: Math.max(0, desired - current),
    nodes_removed: Math.max(0, current - desired),
  };
}

/** The effect of deleting a pool: its nodes are removed. */
export function effectsOfDelete({ status }: NodePool): NodeEffects {
  return { ...NO_NODES, nodes_removed: status?.nodes ?? 0 };
}

/** The effect of an upgrade to `version`: every node that runs another version is replaced. */
export function effectsOfUpgrade({ status }: NodePool, version: string): NodeEffects {
  const isCurrent = status?.version === version || `v${status?.version}` === version;
  return { ...NO_NODES, nodes_replaced: isCurrent ? 0 : (status?.nodes ?? 0) };
}

export function sumEffects(effects: readonly NodeEffects[]): NodeEffects {
  return effects.reduce(
    (sum, one) => ({
      nodes_replaced: sum.nodes_replaced + one.nodes_replaced,
      nodes_added: sum.nodes_added + one.nodes_added,
      nodes_removed: sum.nodes_removed + one.nodes_removed,
    }),
    NO_NODES,
  );
}

/**
 * The nodes of a pool that are billed once it has these settings: desired_nodes, or those that an autoscaled pool has,
 * as far as its range allows. `before` is the current pool, undefined for a new one.
 */
export function toBilledPool(id: string, spec: NodePoolSpec, before: NodePool | undefined): BilledPool {
  const nodes = before === undefined ? firstNodesOf(spec) : countNodesAfter(before, spec);
  const maxNodes = isAutoscaled(spec) ? autoscalingRange(spec).maxNodes : nodes;
  return { id, size: spec, nodes, maxNodes };
}

function firstNodesOf(spec: NodePoolSpec): number {
  return isAutoscaled(spec) ? autoscalingRange(spec).minNodes : spec.desiredNodes;
}

function countNodesAfter(before: NodePool, after: NodePoolSpec): number {
  return isAutoscaled(after)
    ? clamp(countNodes(before), autoscalingRange(after))
    : withKeptNodes(before, after).desiredNodes;
}

/**
 * The nodes of a pool: of a fixed one desired_nodes, for scaling that is under way will complete, or those that it
 * keeps where nobody sets them.
 */
function countNodes(pool: NodePool): number {
  if (!isAutoscaled(pool.spec)) return withKeptNodes(pool).desiredNodes;
  return pool.status?.nodes ?? autoscalingRange(pool.spec).minNodes;
}

function clamp(nodes: number, { minNodes, maxNodes }: { minNodes: number; maxNodes: number }): number {
  return Math.min(maxNodes, Math.max(minNodes, nodes));
}
