import { z } from "zod";
import {
  defineTenantKind,
  listAllPages,
  type TenantClient,
  tenantList,
  tenantName,
  tenantNamespace,
} from "../tenant-client.ts";
import type { TenantNode } from "./node-checks.ts";
import { type Finding, findOfOne, toUnknownCheck, type UpgradeCheck } from "./upgrade-check.ts";

const count = z.int().min(0).max(2_147_483_647).default(0);

/** Pods of other phases are evicted whatever a budget says: `canIgnorePDB` of kube-apiserver. */
const MAY_BE_HELD = ["Pending", "Succeeded", "Failed"].map((phase) => `status.phase!=${phase}`).join(",");

/** How many of the containers, and of the readiness gates, are ready: as "1/2". */
const ratio = z.string().max(32);

/** A whole pod may be some hundred KiB. */
const podKind = defineTenantKind(
  { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
  z.object({
    metadata: z.object({
      annotations: z.object({ "kubernetes.io/config.mirror": z.string().optional() }).optional(),
      deletionTimestamp: z.string().optional(),
      ownerReferences: tenantList(z.object({ kind: z.string() })).optional(),
    }),
    columns: z.object({ Node: z.string().max(253), Ready: ratio, "Readiness Gates": ratio }),
  }),
  { asTable: true, fieldSelector: MAY_BE_HELD, firstPage: 10 },
);
type TenantPod = z.output<typeof podKind.schema>;

/** A selector of more requirements or of a longer query is not asked with: the work for it is the platform's. */
const MAX_REQUIREMENTS = 100;
const MAX_QUERY_LENGTH = 8_192;
/** One value takes two characters of a query. */
const MAX_VALUES = MAX_QUERY_LENGTH / 2;

/** Checked as one, and no further than is asked with: a record of zod makes issues of all entries. */
const labels = z.custom<Record<string, string>>((value) => {
  if (typeof value !== "object" || value === null) return false;
  let count = 0;
  for (const key in value) {
    count += 1;
    if (count > MAX_REQUIREMENTS || typeof Reflect.get(value, key) !== "string") return false;
  }
  return true;
}, "labels are expected");

const isShortList = (value: unknown, max: number): value is unknown[] =>
  Array.isArray(value) && value.length <= max;

const expression = z.object({
  key: z.string(),
  operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
  values: z
    .custom<string[]>(
      (value) => isShortList(value, MAX_VALUES) && value.every((one) => typeof one === "string"),
    )
    .default([]),
});

/** The query that asks for its pods: undefined without a selector, null where it is not asked with. */
const selectorQuery = z
  .object({
    matchLabels: labels.default({}),
    matchExpressions: z
      .custom<unknown[]>((value) => isShortList(value, MAX_REQUIREMENTS))
      .pipe(tenantList(expression))
      .default([]),
  })
  .transform(toQuery)
  .pipe(z.string().max(MAX_QUERY_LENGTH))
  .nullish()
  .catch(null);

const budgetKind = defineTenantKind(
  {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    namespaced: true,
  },
  z.object({
    metadata: z.object({ name: tenantName, namespace: tenantNamespace, generation: count }),
    spec: z.object({
      selector: selectorQuery,
      unhealthyPodEvictionPolicy: z.string().optional(),
    }),
    status: z
      .object({
        disruptionsAllowed: count,
        currentHealthy: count,
        desiredHealthy: count,
        expectedPods: count,
        observedGeneration: count,
      })
      .prefault({}),
  }),
);
type TenantBudget = z.output<typeof budgetKind.schema>;

/** For each target, the nodes that an upgrade to it replaces, by name. */
type ReplacedNodes = ReadonlyMap<string, ReadonlyMap<string, TenantNode>>;

/**
 * The disruption budgets that allow no eviction, of whose pods some are on nodes that an upgrade to a target replaces. One
 * whose pods cannot be read is `unknown`, beside the others.
 */
export async function* readBudgetChecks(
  client: Pick<TenantClient, "listPage">,
  nodes: Promise<readonly TenantNode[]>,
  targets: readonly string[],
): AsyncGenerator<Finding> {
  const present = await nodes;
  const replaced = new Map(targets.map((target) => [target, findReplaced(present, target)]));
  for (const budget of await listAllPages(client, budgetKind)) {
    if (budget.status.disruptionsAllowed > 0 || isWithoutPods(budget)) continue;
    yield* await findOfOne(toObject(budget), () => findHeld(client, budget, replaced));
  }
}

/** What it finds of one budget. Rejects with a KubeError. */
async function findHeld(
  client: Pick<TenantClient, "listPage">,
  budget: TenantBudget,
  replaced: ReplacedNodes,
): Promise<Finding[]> {
  const { selector } = budget.spec;
  if (selector === undefined) return [];
  if (selector === null) return [{ check: toUnknownCheck(toObject(budget), NOT_ASKED_WITH) }];
  const held = await countHeld(client, selector, budget, replaced);
  return [...held].map(([target, count]) => ({ target, check: toCheck(budget, count) }));
}

const NOT_ASKED_WITH = `The disruption budget allows no eviction, and its pods were not looked for: its selector has more than ${MAX_REQUIREMENTS} requirements or ${MAX_QUERY_LENGTH} characters.`;

function findReplaced(nodes: readonly TenantNode[], target: string): ReadonlyMap<string, TenantNode> {
  const replaced = nodes.filter(({ version }) => withoutPrefix(version) !== withoutPrefix(target));
  return new Map(replaced.map((node) => [node.name, node]));
}

function withoutPrefix(version: string): string {
  return version.replace(/^v/, "");
}

/** For each target, how many of its pods a drain waits for: at least those of the first page that has some. */
async function countHeld(
  client: Pick<TenantClient, "listPage">,
  selector: string,
  budget: TenantBudget,
  replaced: ReplacedNodes,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  let next: string | undefined;
  do {
    const page = await client.listPage(podKind, selector, next, budget.metadata.namespace);
    next = page.next;
    for (const [target, nodes] of replaced) {
      if (found.has(target)) continue;
      const held = page.items.filter((pod) => isHeld(pod, nodes.get(pod.columns.Node), budget)).length;
      if (held > 0) found.set(target, next === undefined ? `${held}` : `at least ${held}`);
    }
  } while (next !== undefined && found.size < replaced.size);
  return found;
}

/** Zeros also stand in a status that nobody has written yet. */
function isWithoutPods({ metadata, status }: TenantBudget): boolean {
  const isCounted = status.observedGeneration > 0 && status.observedGeneration >= metadata.generation;
  return isCounted && status.expectedPods === 0;
}

/** A selector in the notation of a query. */
function toQuery({
  matchLabels,
  matchExpressions,
}: {
  matchLabels: Record<string, string>;
  matchExpressions: readonly z.output<typeof expression>[];
}): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const expressions = matchExpressions.map(({ key, operator, values }) => {
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
function isHeld(pod: TenantPod, node: TenantNode | undefined, budget: TenantBudget): boolean {
  const { metadata } = pod;
  const isStatic = metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  const isOfDaemonSet = metadata.ownerReferences?.some(({ kind }) => kind === "DaemonSet") === true;
  if (node === undefined || isStatic || isOfDaemonSet || metadata.deletionTimestamp !== undefined)
    return false;
  if (isReady(pod, node)) return true;
  const { currentHealthy, desiredHealthy } = budget.status;
  const areEnoughReady = desiredHealthy > 0 && currentHealthy >= desiredHealthy;
  return budget.spec.unhealthyPodEvictionPolicy !== "AlwaysAllow" && !areEnoughReady;
}

/** Its condition Ready: of its containers and gates, and False by Kubernetes once its node is not ready. */
function isReady({ columns }: TenantPod, node: TenantNode): boolean {
  const isComplete = (parts: string) => /^(\d+)\/\1$/.test(parts) || parts === "<none>";
  return node.isReady && isComplete(columns.Ready) && isComplete(columns["Readiness Gates"]);
}

function toObject({ metadata: { namespace, name } }: TenantBudget): UpgradeCheck["object"] {
  return { kind: "PodDisruptionBudget", namespace, name };
}

function toCheck(budget: TenantBudget, held: string): UpgradeCheck {
  const { currentHealthy, desiredHealthy } = budget.status;
  return {
    check: "pods_not_evictable",
    severity: "blocking",
    object: toObject(budget),
    message: `The disruption budget allows no eviction: it asks for ${desiredHealthy} ready pods and has ${currentHealthy}. Pods of it on nodes that are replaced: ${held}. Each of these nodes waits for them until the drain timeout of its node pool is over.`,
    fix: "Run more replicas or let the budget allow one eviction, and make pods ready that are not.",
  };
}
