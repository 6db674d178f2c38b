import { MAX_NODES_PER_POOL } from "./fields.ts";
import type { Rule } from "./rule.ts";

interface PoolSize extends PoolTotals {
  minNodes: number;
  maxNodes: number;
  desiredNodes: number;
}

interface Total {
  perNode: "vcpus" | "memoryGB";
  min: "minVCPUs" | "minMemoryGB";
  max: "maxVCPUs" | "maxMemoryGB";
}

const totals: readonly Total[] = [
  { perNode: "vcpus", min: "minVCPUs", max: "maxVCPUs" },
  { perNode: "memoryGB", min: "minMemoryGB", max: "maxMemoryGB" },
];

const nodeCountRules: readonly Rule<PoolSize>[] = [
  {
    field: "minNodes",
    code: "min_gt_desired",
    message: "must not be greater than spec.desiredNodes",
    crdMessage:
      "must not be greater than spec.desiredNodes, which is 1 when it is left out: add spec.desiredNodes",
    cel: "self.minNodes <= self.desiredNodes",
    holds: (pool) => pool.minNodes <= pool.desiredNodes,
  },
  {
    field: "desiredNodes",
    code: "desired_gt_max",
    message: "must not be greater than spec.maxNodes",
    cel: "self.desiredNodes <= self.maxNodes",
    holds: (pool) => pool.desiredNodes <= pool.maxNodes,
  },
];

function totalRules({ perNode, min, max }: Total): Rule<PoolSize>[] {
  return [
    {
      field: min,
      code: "min_gt_max",
      message: `must not be greater than spec.${max}`,
      cel: `!has(self.${min}) || !has(self.${max}) || self.${min} <= self.${max}`,
      holds: (pool) => (pool[min] ?? 0) <= (pool[max] ?? Number.POSITIVE_INFINITY),
    },
    {
      field: min,
      code: "below_one_node",
      message: `must be 0 or cover at least one node (spec.${perNode})`,
      cel: `!has(self.${min}) || self.${min} == 0 || self.${min} >= self.${perNode}`,
      holds: (pool) => (pool[min] ?? 0) === 0 || (pool[min] ?? 0) >= pool[perNode],
    },
  ];
}

const autoscaledCel = totals
  .map(({ min, max }) => `(has(self.${max}) && self.${max} > (has(self.${min}) ? self.${min} : 0))`)
  .join(" || ");
const lowerCel = totals
  .map(({ min, perNode }) => `(has(self.${min}) ? (self.${min} + self.${perNode} - 1) / self.${perNode} : 0)`)
  .join(", ");
const upperCel = totals
  .map(
    ({ max, perNode }) =>
      `(!has(self.${max}) ? ${MAX_NODES_PER_POOL} : self.${max} < self.${perNode} ? 1 : self.${max} / self.${perNode})`,
  )
  .join(", ");

// The lower bound of one node needs no check here: a maximum below one node allows one node.
const rangeRule: Rule<PoolSize> = {
  field: "",
  code: "min_gt_max",
  message:
    "no number of nodes fits the CPU and memory totals (spec.minVCPUs, spec.maxVCPUs, spec.minMemoryGB, spec.maxMemoryGB) with nodes of this size (spec.vcpus, spec.memoryGB)",
  cel: `!(${autoscaledCel}) || [${lowerCel}].all(least, [${upperCel}, ${MAX_NODES_PER_POOL}].all(most, least <= most))`,
  holds: (pool) => {
    const { minNodes, maxNodes } = autoscalingRange(pool);
    return !isAutoscaled(pool) || minNodes <= maxNodes;
  },
};

/** The cross-field rules of a node pool; the bounds of single fields are in the schema. */
export const nodePoolRules: readonly Rule<PoolSize>[] = [
  ...nodeCountRules,
  ...totals.flatMap(totalRules),
  rangeRule,
];

/** The size of one node and the limits of the whole pool, which decide whether and how far it autoscales. */
export interface PoolTotals {
  vcpus: number;
  memoryGB: number;
  minVCPUs?: number | undefined;
  maxVCPUs?: number | undefined;
  minMemoryGB?: number | undefined;
  maxMemoryGB?: number | undefined;
}

interface NodeRange {
  minNodes: number;
  maxNodes: number;
}

/** Whether the autoscaler sets the number of nodes: a maximum exceeds its minimum, for CPU or for memory. */
export function isAutoscaled(pool: PoolTotals): boolean {
  return (pool.maxVCPUs ?? 0) > (pool.minVCPUs ?? 0) || (pool.maxMemoryGB ?? 0) > (pool.minMemoryGB ?? 0);
}

/**
 * Bounds of an autoscaled pool in nodes: the stricter of CPU and memory. At least one node, unless both minima are
 * explicitly 0 with their maxima set; a maximum below the size of one node allows one. At most MAX_NODES_PER_POOL.
 * `minNodes > maxNodes` is an empty range.
 */
export function autoscalingRange(pool: PoolTotals): NodeRange {
  const cpu = totalRange(pool.vcpus, pool.minVCPUs, pool.maxVCPUs);
  const memory = totalRange(pool.memoryGB, pool.minMemoryGB, pool.maxMemoryGB);
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

function totalRange(perNode: number, minimum = 0, maximum = perNode * MAX_NODES_PER_POOL): NodeRange {
  return { minNodes: Math.ceil(minimum / perNode), maxNodes: Math.max(1, Math.floor(maximum / perNode)) };
}

/** The maxima that the pool exceeds with its first node: those that are less than the size of one node. */
export function findMaximaBelowOneNode(pool: PoolTotals): ("maxVCPUs" | "maxMemoryGB")[] {
  if (!isAutoscaled(pool)) return [];
  return [
    ...(pool.maxVCPUs !== undefined && pool.maxVCPUs < pool.vcpus ? (["maxVCPUs"] as const) : []),
    ...(pool.maxMemoryGB !== undefined && pool.maxMemoryGB < pool.memoryGB ? (["maxMemoryGB"] as const) : []),
  ];
}
