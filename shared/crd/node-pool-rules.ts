import { autoscalingRange, isAutoscaled, type PoolBudgets } from "./autoscaling.ts";
import { MAX_NODES_PER_POOL } from "./fields.ts";
import type { Rule } from "./rule.ts";

interface PoolSize extends PoolBudgets {
  minNodes: number;
  maxNodes: number;
  desiredNodes: number;
}

interface Budget {
  perNode: "vcpus" | "memoryGB";
  min: "minVCPUs" | "minMemoryGB";
  max: "maxVCPUs" | "maxMemoryGB";
}

const budgets: readonly Budget[] = [
  { perNode: "vcpus", min: "minVCPUs", max: "maxVCPUs" },
  { perNode: "memoryGB", min: "minMemoryGB", max: "maxMemoryGB" },
];

const nodeCountRules: readonly Rule<PoolSize>[] = [
  {
    field: "minNodes",
    code: "min_gt_desired",
    message: "must not be greater than desiredNodes",
    cel: "self.minNodes <= self.desiredNodes",
    holds: (pool) => pool.minNodes <= pool.desiredNodes,
  },
  {
    field: "desiredNodes",
    code: "desired_gt_max",
    message: "must not be greater than maxNodes",
    cel: "self.desiredNodes <= self.maxNodes",
    holds: (pool) => pool.desiredNodes <= pool.maxNodes,
  },
];

function budgetRules({ perNode, min, max }: Budget): Rule<PoolSize>[] {
  return [
    {
      field: min,
      code: "min_gt_max",
      message: `must not be greater than ${max}`,
      cel: `!has(self.${min}) || !has(self.${max}) || self.${min} <= self.${max}`,
      holds: (pool) => (pool[min] ?? 0) <= (pool[max] ?? Number.POSITIVE_INFINITY),
    },
    {
      field: min,
      code: "below_one_node",
      message: `must be 0 or cover at least one node (${perNode})`,
      cel: `!has(self.${min}) || self.${min} == 0 || self.${min} >= self.${perNode}`,
      holds: (pool) => (pool[min] ?? 0) === 0 || (pool[min] ?? 0) >= pool[perNode],
    },
  ];
}

const autoscaledCel = budgets
  .map(({ min, max }) => `(has(self.${max}) && self.${max} > (has(self.${min}) ? self.${min} : 0))`)
  .join(" || ");
const lowerCel = budgets
  .map(({ min, perNode }) => `(has(self.${min}) ? (self.${min} + self.${perNode} - 1) / self.${perNode} : 0)`)
  .join(", ");
const upperCel = budgets
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
    "no number of nodes fits the CPU and memory totals (minVCPUs, maxVCPUs, minMemoryGB, maxMemoryGB) with nodes of this size (vcpus, memoryGB)",
  cel: `!(${autoscaledCel}) || [${lowerCel}].all(least, [${upperCel}, ${MAX_NODES_PER_POOL}].all(most, least <= most))`,
  holds: (pool) => {
    const { minNodes, maxNodes } = autoscalingRange(pool);
    return !isAutoscaled(pool) || minNodes <= maxNodes;
  },
};

/** The cross-field rules of a node pool; the bounds of single fields are in the schema. */
export const nodePoolRules: readonly Rule<PoolSize>[] = [
  ...nodeCountRules,
  ...budgets.flatMap(budgetRules),
  rangeRule,
];
