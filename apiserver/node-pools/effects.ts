import { autoscalingRange, isAutoscaled } from "../../shared/crd/autoscaling.ts";
import type { NodePool, NodePoolSpec } from "../../shared/crd/node-pool.ts";
import type { NodeEffects } from "../quotas/store.ts";

const NO_NODES: NodeEffects = { nodes_replaced: 0, nodes_added: 0, nodes_removed: 0 };

/** What a new pool means in nodes: a fixed one gets what it asks for, an autoscaled one begins at its least. */
export function effectsOfCreate(spec: NodePoolSpec): NodeEffects {
  return {
    ...NO_NODES,
    nodes_added: isAutoscaled(spec) ? autoscalingRange(spec).minNodes : spec.desiredNodes,
  };
}

/**
 * What a change of settings means in nodes. Another size of the node replaces those that stay; an autoscaled pool
 * moves only as far as its range makes it; labels, timeouts and names move nothing.
 */
export function effectsOfUpdate(before: NodePool, after: NodePoolSpec): NodeEffects {
  const had = countNodes(before);
  const wanted = isAutoscaled(after) ? clamp(had, autoscalingRange(after)) : after.desiredNodes;
  const isResized = (["vcpus", "memoryGB", "diskGB"] as const).some(
    (field) => before.spec[field] !== after[field],
  );
  return {
    nodes_replaced: isResized ? Math.min(had, wanted) : 0,
    nodes_added: Math.max(0, wanted - had),
    nodes_removed: Math.max(0, had - wanted),
  };
}

/** What the deletion of a pool means in nodes: those that exist go. */
export function effectsOfDelete({ status }: NodePool): NodeEffects {
  return { ...NO_NODES, nodes_removed: status?.nodes ?? 0 };
}

/** What an upgrade to `version` means in nodes: every one that runs another version makes way. */
export function effectsOfUpgrade({ status }: NodePool, version: string): NodeEffects {
  const isThere = status?.version === version || `v${status?.version}` === version;
  return { ...NO_NODES, nodes_replaced: isThere ? 0 : (status?.nodes ?? 0) };
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

/** The nodes of a pool: of a fixed one those it asks for, for a move that is under way comes to its end. */
function countNodes({ spec, status }: NodePool): number {
  if (!isAutoscaled(spec)) return spec.desiredNodes;
  return status?.nodes ?? autoscalingRange(spec).minNodes;
}

function clamp(nodes: number, { minNodes, maxNodes }: { minNodes: number; maxNodes: number }): number {
  return Math.min(maxNodes, Math.max(minNodes, nodes));
}
