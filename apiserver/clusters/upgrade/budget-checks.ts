import { z } from "zod";
import {
  defineTenantKind,
  listAllPages,
  type TenantClient,
  tenantList,
  tenantName,
  tenantNamespace,
} from "../../../shared/tenant/tenant-client.ts";
import type { UpgradeCheck } from "../../node-pools/index.ts";
import { withoutPrefix } from "../kubernetes-version.ts";
import { listNodes } from "./node-checks.ts";

const count = z.int().min(0).max(2_147_483_647).default(0);

const podKind = defineTenantKind(
  { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
  z.object({
    metadata: z.object({
      annotations: z.object({ "kubernetes.io/config.mirror": z.string().optional() }).optional(),
      deletionTimestamp: z.string().optional(),
      ownerReferences: tenantList(z.object({ kind: z.string() })).optional(),
    }),
    spec: z.object({ nodeName: z.string().optional() }),
    status: z.object({
      phase: z.string().optional(),
      conditions: tenantList(z.object({ type: z.string(), status: z.string() })).optional(),
    }),
  }),
);
type TenantPod = z.output<typeof podKind.schema>;

/** Checked as one: a record of zod makes issues of all entries. */
const labels = z.custom<Record<string, string>>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((one) => typeof one === "string"),
  "labels are expected",
);

const expression = z.object({
  key: z.string(),
  operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
  values: tenantList(z.string()).default([]),
});

const budgetKind = defineTenantKind(
  {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    namespaced: true,
  },
  z.object({
    metadata: z.object({ name: tenantName, namespace: tenantNamespace }),
    spec: z.object({
      selector: z
        .object({
          matchLabels: labels.default({}),
          matchExpressions: tenantList(expression).default([]),
        })
        .optional(),
      unhealthyPodEvictionPolicy: z.string().optional(),
    }),
    status: z
      .object({ disruptionsAllowed: count, currentHealthy: count, desiredHealthy: count })
      .default({ disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0 }),
  }),
);
type TenantBudget = z.output<typeof budgetKind.schema>;

/** The disruption budgets that allow no eviction, of whose pods some are on nodes that an upgrade to `target` replaces. */
export async function* readBudgetChecks(
  client: Pick<TenantClient, "listPage">,
  target: string,
): AsyncGenerator<UpgradeCheck> {
  const nodes = await listNodes(client);
  const replaced = new Set(
    nodes
      .filter(({ status }) => withoutPrefix(status.nodeInfo.kubeletVersion) !== withoutPrefix(target))
      .map(({ metadata }) => metadata.name),
  );
  for (const budget of await listAllPages(client, budgetKind)) {
    const selector = toQuery(budget.spec.selector);
    if (budget.status.disruptionsAllowed > 0 || selector === undefined) continue;
    const pods = await listAllPages(client, podKind, selector, budget.metadata.namespace);
    const held = pods.filter((pod) => replaced.has(pod.spec.nodeName ?? "") && isHeld(pod, budget));
    if (held.length > 0) yield toCheck(budget, held.length);
  }
}

/** A selector in the notation of a query; undefined for one that matches no pod. */
function toQuery(selector: TenantBudget["spec"]["selector"]): string | undefined {
  if (selector === undefined) return undefined;
  const labels = Object.entries(selector.matchLabels).map(([key, value]) => `${key}=${value}`);
  const expressions = selector.matchExpressions.map(({ key, operator, values }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
  });
  return [...labels, ...expressions].join(",");
}

/**
 * Whether a drain waits for this pod of a budget that allows no eviction: not for one of a DaemonSet, a static one, or one
 * that the eviction API does not count: https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
function isHeld({ metadata, status }: TenantPod, budget: TenantBudget): boolean {
  const isStatic = metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  const isOfDaemonSet = metadata.ownerReferences?.some(({ kind }) => kind === "DaemonSet") === true;
  if (isStatic || isOfDaemonSet || metadata.deletionTimestamp !== undefined) return false;
  if (["Pending", "Succeeded", "Failed"].includes(status.phase ?? "")) return false;
  if (status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True")) return true;
  const { currentHealthy, desiredHealthy } = budget.status;
  const areEnoughReady = desiredHealthy > 0 && currentHealthy >= desiredHealthy;
  return budget.spec.unhealthyPodEvictionPolicy !== "AlwaysAllow" && !areEnoughReady;
}

function toCheck({ metadata, status }: TenantBudget, held: number): UpgradeCheck {
  const { currentHealthy, desiredHealthy } = status;
  return {
    check: "pods_not_evictable",
    severity: "blocking",
    object: { kind: "PodDisruptionBudget", namespace: metadata.namespace, name: metadata.name },
    message: `The disruption budget allows no eviction: it asks for ${desiredHealthy} ready pods and has ${currentHealthy}. Pods of it on nodes that are replaced: ${held}. Each of these nodes waits for them until the drain timeout of its node pool is over.`,
    fix: "Run more replicas or let the budget allow one eviction, and make pods ready that are not.",
  };
}
