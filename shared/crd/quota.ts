import { z } from "zod";
import { wholeNumber } from "./fields.ts";
import type { NodePool, NodePoolMachine } from "./node-pool.ts";
import { autoscalingRange, isAutoscaled, type PoolTotals } from "./node-pool-rules.ts";

/** The resources that quotas limit. Memory is in GiB. */
export const QUOTA_NAMES = ["clusters", "nodePools", "nodes", "vcpus", "memoryGB"] as const;
export type QuotaName = (typeof QUOTA_NAMES)[number];

/** One number per quota: limits, usage, or the amounts of an object. */
export type QuotaAmounts = Readonly<Record<QuotaName, number>>;

/** Maximum of a quota limit. */
export const MAX_QUOTA = 1_000_000_000;

export const NO_AMOUNTS: QuotaAmounts = { clusters: 0, nodePools: 0, nodes: 0, vcpus: 0, memoryGB: 0 };
export const CLUSTER_AMOUNTS: QuotaAmounts = { ...NO_AMOUNTS, clusters: 1 };

export const quotaLimitSchema = wholeNumber(0, MAX_QUOTA);

export const quotaLimitsSchema = z.strictObject({
  clusters: quotaLimitSchema,
  nodePools: quotaLimitSchema,
  nodes: quotaLimitSchema,
  vcpus: quotaLimitSchema,
  memoryGB: quotaLimitSchema,
});

/** The amounts of a pool: a fixed pool counts its desired nodes, an autoscaled pool its maximum. */
export function poolAmounts(pool: PoolTotals & { desiredNodes: number }): QuotaAmounts {
  const nodes = isAutoscaled(pool) ? autoscalingRange(pool).maxNodes : pool.desiredNodes;
  return { clusters: 0, nodePools: 1, nodes, vcpus: nodes * pool.vcpus, memoryGB: nodes * pool.memoryGB };
}

/** The phases of a machine that is being deleted. */
const DELETING_PHASES = new Set(["Deleting", "Deleted"]);

/** What `occupiedAmounts` reads of machines. */
export function pickOccupied(machines: readonly NodePoolMachine[] = []) {
  return machines.map(({ phase = "", vcpus, memoryGB }) => [DELETING_PHASES.has(phase), vcpus, memoryGB]);
}

/**
 * What the machines of a pool occupy of the quotas in addition to `desired`, what the pool is to have: those that are being deleted,
 * for which it gets others, and those above `desired`, which will be. Of a pool that is being deleted, whatever is above `desired`.
 */
export function occupiedAmounts(
  { metadata, spec, status }: Pick<NodePool, "metadata" | "spec" | "status">,
  desired: QuotaAmounts,
): QuotaAmounts {
  const isPoolDeleting = metadata.deletionTimestamp !== undefined;
  const isDeleting = ({ phase = "" }: NodePoolMachine) => !isPoolDeleting && DELETING_PHASES.has(phase);
  const machines = status?.machines ?? [];
  const amountsOf = (some: readonly NodePoolMachine[]): QuotaAmounts => ({
    ...NO_AMOUNTS,
    nodes: some.length,
    vcpus: some.reduce((sum, { vcpus = spec.vcpus }) => sum + vcpus, 0),
    memoryGB: some.reduce((sum, { memoryGB = spec.memoryGB }) => sum + memoryGB, 0),
  });
  const staying = machines.filter((machine) => !isDeleting(machine));
  return addAmounts(amountsOf(machines.filter(isDeleting)), growthOf(desired, amountsOf(staying)));
}

/** Computes each amount by its name. */
export function mapAmounts(amountOf: (name: QuotaName) => number): QuotaAmounts {
  return {
    clusters: amountOf("clusters"),
    nodePools: amountOf("nodePools"),
    nodes: amountOf("nodes"),
    vcpus: amountOf("vcpus"),
    memoryGB: amountOf("memoryGB"),
  };
}

export function addAmounts(left: QuotaAmounts, right: QuotaAmounts): QuotaAmounts {
  return mapAmounts((name) => left[name] + right[name]);
}

/** The increase of each amount from `before` to `after`; 0 for a decrease. */
export function growthOf(before: QuotaAmounts, after: QuotaAmounts): QuotaAmounts {
  return mapAmounts((name) => Math.max(0, after[name] - before[name]));
}

export function isGrowth(growth: QuotaAmounts): boolean {
  return QUOTA_NAMES.some((name) => growth[name] > 0);
}

/** A quota that an increase exceeds. */
export interface Shortfall {
  name: QuotaName;
  limit: number;
  used: number;
  growth: number;
}

/** The quotas that an increase exceeds. A quota whose amount does not grow passes, also above a lowered limit. */
export function findShortfalls(limits: QuotaAmounts, used: QuotaAmounts, growth: QuotaAmounts): Shortfall[] {
  return QUOTA_NAMES.filter((name) => growth[name] > 0 && used[name] + growth[name] > limits[name]).map(
    (name) => ({ name, limit: limits[name], used: used[name], growth: growth[name] }),
  );
}

const LABELS: Readonly<Record<QuotaName, string>> = {
  clusters: "clusters",
  nodePools: "node pools",
  nodes: "nodes",
  vcpus: "vCPUs",
  memoryGB: "GiB of memory",
};

/** A message with the limit, the usage and the request of every exceeded quota. */
export function describeShortfalls(shortfalls: readonly Shortfall[]): string {
  const parts = shortfalls.map(
    ({ name, limit, used, growth }) =>
      `${LABELS[name]}: ${limit} allowed, ${used} in use, ${growth} more requested`,
  );
  return `The request exceeds a quota of the organization (${parts.join("; ")}). Request less, delete unused resources, or ask the platform's operator for a higher quota.`;
}

/** The limits as the value of the Namespace's annotation. */
export function formatLimits(limits: QuotaAmounts): string {
  return JSON.stringify(mapAmounts((name) => limits[name]));
}

/** Parses the annotation; undefined when it is absent. An annotation that holds no limits allows nothing more. */
export function parseLimits(text: string | undefined): QuotaAmounts | undefined {
  if (text === undefined) return undefined;
  try {
    return quotaLimitsSchema.safeParse(JSON.parse(text)).data ?? NO_AMOUNTS;
  } catch {
    return NO_AMOUNTS;
  }
}
