import { MAX_NODES_PER_POOL } from "./fields.ts";

/** The size of one node and the limits of the whole pool, which decide whether and how far it autoscales. */
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

/** Whether the autoscaler sets the number of nodes: a maximum exceeds its minimum, for CPU or for memory. */
export function isAutoscaled(pool: PoolBudgets): boolean {
  return (pool.maxVCPUs ?? 0) > (pool.minVCPUs ?? 0) || (pool.maxMemoryGB ?? 0) > (pool.minMemoryGB ?? 0);
}

/**
 * Bounds of an autoscaled pool in nodes: the stricter of CPU and memory. At least one node, unless both minima are
 * explicitly 0 with their maxima set; a maximum below the size of one node allows one. At most MAX_NODES_PER_POOL.
 * `minNodes > maxNodes` is an empty range.
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
  return { minNodes: Math.ceil(minimum / perNode), maxNodes: Math.max(1, Math.floor(maximum / perNode)) };
}

/** The maxima that the pool exceeds with its first node: those that are less than the size of one node. */
export function findMaximaBelowOneNode(pool: PoolBudgets): ("maxVCPUs" | "maxMemoryGB")[] {
  if (!isAutoscaled(pool)) return [];
  return [
    ...(pool.maxVCPUs !== undefined && pool.maxVCPUs < pool.vcpus ? (["maxVCPUs"] as const) : []),
    ...(pool.maxMemoryGB !== undefined && pool.maxMemoryGB < pool.memoryGB ? (["maxMemoryGB"] as const) : []),
  ];
}
