import { expect, test } from "vitest";
import { KubeError } from "../../kube/errors.ts";
import type { TenantClient } from "../tenant-client.ts";
import { readBudgetChecks } from "./budget-checks.ts";
import { listNodes } from "./node-checks.ts";
import type { UpgradeCheck } from "./upgrade-check.ts";

const NODES = [
  ["old", "v1.34.2"],
  ["new", "v1.35.1"],
  ["silent", "v1.34.2"],
].map(([name, Version]) => ({
  metadata: { name },
  columns: { Version, Status: name === "silent" ? "NotReady" : "Ready,SchedulingDisabled" },
}));

const budget = (status: object | undefined, spec: object = { selector: {} }) => ({
  metadata: { name: "web", namespace: "shop", generation: 1 },
  spec,
  status,
});
const FULL = { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 };
const SHORT = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 };
const EMPTY = { ...FULL, expectedPods: 0, observedGeneration: 1 };
const changed = (status: object) => ({
  ...budget(status),
  metadata: { name: "web", namespace: "shop", generation: 2 },
});
const always = { selector: {}, unhealthyPodEvictionPolicy: "AlwaysAllow" };

const pod = ({ metadata = {}, node = "old", ready = "2/2", gates = "<none>" } = {}) => ({
  metadata,
  columns: { Node: node, Ready: ready, "Readiness Gates": gates },
});
const ofDaemonSet = { ownerReferences: [{ kind: "DaemonSet" }] };
const ofKubelet = { annotations: { "kubernetes.io/config.mirror": "x" } };
const terminating = { deletionTimestamp: "2026-11-28T09:00:00Z" };

/** The checks of an upgrade to 1.35.1, and what was asked for of pods, of which a page has two. */
async function check(budgets: object | object[], pods: object[]) {
  const asked: (string | undefined)[] = [];
  const objects: Record<string, object[]> = { nodes: NODES, poddisruptionbudgets: [budgets].flat(), pods };
  const listPage: TenantClient["listPage"] = async (
    { kind, schema, fieldSelector },
    selector,
    next = "0",
    namespace,
  ) => {
    if (kind.plural === "pods") asked.push(`${namespace} ${selector}`, `${fieldSelector}`);
    if (namespace === "gone") throw new KubeError({ status: 0, reason: "Aborted", kubeMessage: "aborted" });
    if (namespace === "refused")
      throw new KubeError({ status: 400, reason: "BadRequest", kubeMessage: "unable to parse" });
    const all = (objects[kind.plural] ?? []).map((item) => schema.parse(item));
    if (kind.plural !== "pods") return { items: all, next: undefined };
    const end = Number(next) + 2;
    return { items: all.slice(Number(next), end), next: end < all.length ? `${end}` : undefined };
  };
  const checks: UpgradeCheck[] = [];
  const found = readBudgetChecks({ listPage }, listNodes({ listPage }), ["1.35.1"]);
  for await (const one of found) checks.push(one.check);
  return { checks, asked };
}

/** The selectors that no pods are asked for with. */
const labelled = (count: number) => ({
  matchLabels: Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, ""])),
});
const expressed = (expressions: number, values: number) => ({
  matchExpressions: Array.from({ length: expressions }, () => ({
    key: "a",
    operator: "In",
    values: Array.from({ length: values }, () => "b"),
  })),
});
const NOT_LOOKED_FOR = expect.stringMatching(
  /allows no eviction, and its pods were not looked for: .* 100 requirements or 8192 characters/,
);
const REFUSED = "The API server of the cluster could not be read: unable to parse";

test.each<[string, string, object, unknown]>([
  ["of 101 labels", "shop", labelled(101), NOT_LOOKED_FOR],
  ["of 101 expressions", "shop", expressed(101, 0), NOT_LOOKED_FOR],
  ["of 5,000 values", "shop", expressed(1, 5_000), NOT_LOOKED_FOR],
  ["of 9,000 characters", "shop", { matchLabels: { app: "x".repeat(9_000) } }, NOT_LOOKED_FOR],
  ["that the API server refuses", "refused", { matchLabels: { app: "two words" } }, REFUSED],
])(
  "a budget with a selector %s is unknown, and hides none behind it",
  async (_name, namespace, selector, message) => {
    const odd = { ...budget(FULL, { selector }), metadata: { name: "aaa", namespace, generation: 1 } };
    const { checks, asked } = await check([odd, budget(FULL)], [pod()]);
    const object = { kind: "PodDisruptionBudget", namespace, name: "aaa" };
    expect(checks).toEqual([
      expect.objectContaining({ check: "unknown", severity: "warning", object, message }),
      expect.objectContaining({ check: "pods_not_evictable", severity: "blocking" }),
    ]);
    expect(asked).toHaveLength(message === REFUSED ? 4 : 2);
  },
);

test.each<[string, object]>([
  ["100 labels", labelled(100)],
  ["100 expressions", expressed(100, 10)],
])("a budget with a selector of %s is found", async (_name, selector) => {
  const { checks } = await check(budget(FULL, { selector }), [pod()]);
  expect(checks).toEqual([expect.objectContaining({ check: "pods_not_evictable" })]);
});

test("of thousands of labels no more are looked at than a selector may have", async () => {
  let looked = 0;
  const matchLabels = new Proxy(labelled(5_000).matchLabels, {
    get(labels, key) {
      looked += 1;
      return Reflect.get(labels, key);
    },
  });
  await check(budget(FULL, { selector: { matchLabels } }), []);
  expect(looked).toBeLessThanOrEqual(101);
});

test("budgets are unknown together once the time for all that is read is over", async () => {
  const late = { ...budget(FULL), metadata: { name: "web", namespace: "gone", generation: 1 } };
  await expect(check([late, budget(FULL)], [pod()])).rejects.toMatchObject({ reason: "Aborted" });
});

test("the name of a pod's node has at most 253 characters", async () => {
  await expect(check(budget(FULL), [pod({ node: "a".repeat(254) })])).rejects.toThrow(/253/);
});

test.each<[string, object, object[], boolean]>([
  ["a ready pod on a node that is replaced is held", budget(FULL), [pod()], true],
  ["a pod of a budget that was not counted yet is held", budget(undefined), [pod()], true],
  ["a pod of a budget that allows an eviction is not", budget({ disruptionsAllowed: 1 }), [pod()], false],
  ["a pod on a node that stays is not", budget(FULL), [pod({ node: "new" })], false],
  ["a pod on no node is not", budget(FULL), [pod({ node: "<none>" })], false],
  ["a budget without pods holds nothing", budget(FULL), [], false],
  ["a budget without a selector holds nothing", budget(FULL, {}), [pod()], false],
  ["a pod of a DaemonSet is not drained", budget(FULL), [pod({ metadata: ofDaemonSet })], false],
  ["a static pod is not drained", budget(FULL), [pod({ metadata: ofKubelet })], false],
  ["a pod that is being deleted is not held", budget(FULL), [pod({ metadata: terminating })], false],
  ["a budget with no pod holds nothing", budget(EMPTY), [pod()], false],
  ["a budget that was changed since it had no pod may hold one", changed(EMPTY), [pod()], true],
  ["an unready gate is evicted while enough others are ready", budget(FULL), [pod({ gates: "0/1" })], false],
  ["a ready gate is held", budget(FULL), [pod({ gates: "10/10" })], true],
  [
    "what runs on a silent node is evicted while others are ready",
    budget(FULL),
    [pod({ node: "silent" })],
    false,
  ],
  [
    "what runs on a silent node is held while too few are ready",
    budget(SHORT),
    [pod({ node: "silent" })],
    true,
  ],
  ["an unready pod is evicted while enough others are ready", budget(FULL), [pod({ ready: "1/2" })], false],
  ["an unready pod is held while too few others are ready", budget(SHORT), [pod({ ready: "1/2" })], true],
  ["an unready pod is held where no other has to be ready", budget({}), [pod({ ready: "1/2" })], true],
  ["an unready pod is evicted by AlwaysAllow", budget(SHORT, always), [pod({ ready: "1/2" })], false],
  ["a ready pod is held by AlwaysAllow too", budget(SHORT, always), [pod()], true],
])("%s", async (_name, one, pods, isHeld) => {
  const object = { kind: "PodDisruptionBudget", namespace: "shop", name: "web" };
  const expected = expect.objectContaining({ check: "pods_not_evictable", severity: "blocking", object });
  expect((await check(one, pods)).checks).toEqual(isHeld ? [expected] : []);
});

const stays = pod({ node: "new" });

test.each<[string, object[], string, number]>([
  ["all pods that are held", [pod(), pod()], "2", 1],
  ["those of the last page", [stays, stays, pod(), stays], "1", 2],
  ["those of the first page that has some, and asks for no other", [pod(), stays, pod()], "at least 1", 1],
])("the message counts %s", async (_name, pods, count, pages) => {
  const { checks, asked } = await check(budget(FULL), pods);
  const message = `asks for 2 ready pods and has 2. Pods of it on nodes that are replaced: ${count}.`;
  expect(checks.map((one) => one.message)).toEqual([expect.stringContaining(message)]);
  expect(asked).toHaveLength(2 * pages);
});

test("pods are asked for by the selector of the budget, in its namespace, and none that has ended", async () => {
  const matchExpressions = [
    { key: "a", operator: "In", values: ["b", "c"] },
    { key: "d", operator: "NotIn", values: ["e"] },
    { key: "f", operator: "Exists" },
    { key: "g", operator: "DoesNotExist" },
  ];
  const selector = { matchLabels: { app: "web", tier: "a" }, matchExpressions };
  const { asked } = await check(budget(FULL, { selector }), []);
  const inPhase = "status.phase!=Pending,status.phase!=Succeeded,status.phase!=Failed";
  expect(asked).toEqual(["shop app=web,tier=a,a in (b,c),d notin (e),f,!g", inPhase]);
  expect((await check(budget(FULL), [])).asked).toEqual(["shop ", inPhase]);
});
