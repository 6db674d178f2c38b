import { z } from "zod";
import { autoscalingRange, isAutoscaled, type PoolBudgets } from "./autoscaling.ts";

/** What an organization's quotas count. Memory is GiB. */
export const QUOTA_NAMES = ["clusters", "nodePools", "nodes", "vcpus", "memoryGB"] as const;
export type QuotaName = (typeof QUOTA_NAMES)[number];

/** One number per quota: limits, what is in use, or what something takes. */
export type QuotaAmounts = Readonly<Record<QuotaName, number>>;

/** Greatest limit of a quota. */
export const MAX_QUOTA = 1_000_000_000;

export const NO_AMOUNTS: QuotaAmounts = { clusters: 0, nodePools: 0, nodes: 0, vcpus: 0, memoryGB: 0 };
export const CLUSTER_AMOUNTS: QuotaAmounts = { ...NO_AMOUNTS, clusters: 1 };

/** One limit. */
export const quotaLimitSchema = z.int().min(0).max(MAX_QUOTA);

/** The limits of an organization. */
export const quotaLimitsSchema = z.strictObject({
  clusters: quotaLimitSchema,
  nodePools: quotaLimitSchema,
  nodes: quotaLimitSchema,
  vcpus: quotaLimitSchema,
  memoryGB: quotaLimitSchema,
});

/** What one pool takes: a fixed one its desired nodes, an autoscaled one the most that it may grow to. */
export function poolAmounts(pool: PoolBudgets & { desiredNodes: number }): QuotaAmounts {
  const nodes = isAutoscaled(pool) ? autoscalingRange(pool).maxNodes : pool.desiredNodes;
  return { clusters: 0, nodePools: 1, nodes, vcpus: nodes * pool.vcpus, memoryGB: nodes * pool.memoryGB };
}

/** One amount per quota, by its name. */
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

/** What `wanted` takes beyond `had`; 0 where it takes less. */
export function growthOf(had: QuotaAmounts, wanted: QuotaAmounts): QuotaAmounts {
  return mapAmounts((name) => Math.max(0, wanted[name] - had[name]));
}

export function isGrowth(growth: QuotaAmounts): boolean {
  return QUOTA_NAMES.some((name) => growth[name] > 0);
}

/** A quota that does not allow a growth. */
export interface Shortfall {
  name: QuotaName;
  limit: number;
  used: number;
  growth: number;
}

/** The quotas that a growth would go beyond. What does not grow is never refused, also when a limit was lowered. */
export function findShortfalls(limits: QuotaAmounts, used: QuotaAmounts, growth: QuotaAmounts): Shortfall[] {
  return QUOTA_NAMES.filter((name) => growth[name] > 0 && used[name] + growth[name] > limits[name]).map(
    (name) => ({ name, limit: limits[name], used: used[name], growth: growth[name] }),
  );
}

const WORDS: Readonly<Record<QuotaName, string>> = {
  clusters: "clusters",
  nodePools: "node pools",
  nodes: "nodes",
  vcpus: "vCPUs",
  memoryGB: "GiB of memory",
};

/** Why something is refused, in a sentence for people: every quota with its limit, its use and what is asked for. */
export function describeShortfalls(shortfalls: readonly Shortfall[]): string {
  const parts = shortfalls.map(
    ({ name, limit: most, used, growth }) =>
      `${WORDS[name]}: ${most} allowed, ${used} in use, ${growth} more asked for`,
  );
  return `A quota of the organization does not allow it (${parts.join("; ")}). Ask for less, delete what is not needed, or ask the platform's operator for more.`;
}

/** The limits as they stand on the organization's Namespace. */
export function formatLimits(limits: QuotaAmounts): string {
  return JSON.stringify(mapAmounts((name) => limits[name]));
}

/** Reads them back; undefined = the Namespace sets none, or none that could be understood. */
export function parseLimits(text: string | undefined): QuotaAmounts | undefined {
  if (text === undefined) return undefined;
  try {
    return quotaLimitsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
