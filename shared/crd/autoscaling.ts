import { MAX_NODES_PER_POOL } from "./fields.ts";

/** What decides whether and how far a pool autoscales: the size of one node and the totals of the pool. */
export interface PoolBudgets {
  vcpus: number;
  memoryGB: number;
  minVCPUs?: number | undefined;
  maxVCPUs?: number | undefined;
  minMemoryGB?: number | undefined;
  maxMemoryGB?: number | undefined;
}

export interface NodeRange {
  minNodes: number;
  maxNodes: number;
}

/** Whether the number of nodes belongs to the autoscaler: a maximum above its minimum, for CPU or for memory. */
export function isAutoscaled(pool: PoolBudgets): boolean {
  return (pool.maxVCPUs ?? 0) > (pool.minVCPUs ?? 0) || (pool.maxMemoryGB ?? 0) > (pool.minMemoryGB ?? 0);
}

/**
 * Bounds of an autoscaled pool in nodes: the tighter of CPU and memory on both sides. At least one node, unless both
 * minima are explicitly 0 with their maxima set; at most what a pool may have. `minNodes > maxNodes` is an empty range.
 */
export function autoscalingRange(pool: PoolBudgets): NodeRange {
  const cpu = budgetRange(pool.vcpus, pool.minVCPUs, pool.maxVCPUs);
  const memory = budgetRange(pool.memoryGB, pool.minMemoryGB, pool.maxMemoryGB);
  const mayBeEmpty =
    pool.minVCPUs === 0 &&
    pool.minMemoryGB === 0 &&
    pool.maxVCPUs !== undefined &&
    pool.maxMemoryGB !== undefined;
  return {
    minNodes: Math.max(mayBeEmpty ? 0 : 1, cpu.minNodes, memory.minNodes),
    maxNodes: Math.min(MAX_NODES_PER_POOL, cpu.maxNodes, memory.maxNodes),
  };
}

function budgetRange(perNode: number, minimum = 0, maximum = perNode * MAX_NODES_PER_POOL): NodeRange {
  return { minNodes: Math.ceil(minimum / perNode), maxNodes: Math.floor(maximum / perNode) };
}
