import { expect, test } from "vitest";
import type { TenantClient } from "../../../shared/tenant/tenant-client.ts";
import type { UpgradeCheck } from "../../node-pools/index.ts";
import { readBudgetChecks } from "./budget-checks.ts";

const NODES = [
  ["old", "v1.34.2"],
  ["new", "v1.35.1"],
].map(([name, kubeletVersion]) => ({ metadata: { name }, status: { nodeInfo: { kubeletVersion } } }));

const budget = (status: object | undefined, spec: object = { selector: {} }) => ({
  metadata: { name: "web", namespace: "shop" },
  spec,
  status,
});
const FULL = { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 };
const SHORT = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 };
const always = { selector: {}, unhealthyPodEvictionPolicy: "AlwaysAllow" };

const pod = ({ metadata = {}, nodeName = "old", phase = "Running", ready = true } = {}) => ({
  metadata,
  spec: { nodeName },
  status: { phase, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});
const ofDaemonSet = { ownerReferences: [{ kind: "DaemonSet" }] };
const ofKubelet = { annotations: { "kubernetes.io/config.mirror": "x" } };
const terminating = { deletionTimestamp: "2026-11-28T09:00:00Z" };

/** The checks of an upgrade to 1.35.1, and the selectors of pods that were asked for. */
async function check(one: object, pods: object[]) {
  const asked: (string | undefined)[] = [];
  const objects: Record<string, object[]> = { nodes: NODES, poddisruptionbudgets: [one], pods };
  const listPage: TenantClient["listPage"] = async ({ kind, schema }, selector, _next, namespace) => {
    if (kind.plural === "pods") asked.push(`${namespace} ${selector}`);
    return { items: (objects[kind.plural] ?? []).map((item) => schema.parse(item)), next: undefined };
  };
  const checks: UpgradeCheck[] = [];
  for await (const one of readBudgetChecks({ listPage }, "1.35.1")) checks.push(one);
  return { checks, asked };
}

test.each<[string, object, object[], boolean]>([
  ["a ready pod on a node that is replaced is held", budget(FULL), [pod()], true],
  ["a pod of a budget that was not counted yet is held", budget(undefined), [pod()], true],
  ["a pod of a budget that allows an eviction is not", budget({ disruptionsAllowed: 1 }), [pod()], false],
  ["a pod on a node that stays is not", budget(FULL), [pod({ nodeName: "new" })], false],
  ["a pod on no node is not", budget(FULL), [pod({ nodeName: "" })], false],
  ["a budget without pods holds nothing", budget(FULL), [], false],
  ["a budget without a selector holds nothing", budget(FULL, {}), [pod()], false],
  ["a pod of a DaemonSet is not drained", budget(FULL), [pod({ metadata: ofDaemonSet })], false],
  ["a static pod is not drained", budget(FULL), [pod({ metadata: ofKubelet })], false],
  ["a pod that is being deleted is not held", budget(FULL), [pod({ metadata: terminating })], false],
  ["a pod that has ended is not held", budget(FULL), [pod({ phase: "Succeeded" })], false],
  ["an unready pod is evicted while enough others are ready", budget(FULL), [pod({ ready: false })], false],
  ["an unready pod is held while too few others are ready", budget(SHORT), [pod({ ready: false })], true],
  ["an unready pod is held where no other has to be ready", budget({}), [pod({ ready: false })], true],
  ["an unready pod is evicted by AlwaysAllow", budget(SHORT, always), [pod({ ready: false })], false],
  ["a ready pod is held by AlwaysAllow too", budget(SHORT, always), [pod()], true],
])("%s", async (_name, one, pods, isHeld) => {
  const object = { kind: "PodDisruptionBudget", namespace: "shop", name: "web" };
  const expected = expect.objectContaining({ check: "pods_not_evictable", severity: "blocking", object });
  expect((await check(one, pods)).checks).toEqual(isHeld ? [expected] : []);
});

test("the message counts the pods that are held", async () => {
  const { checks } = await check(budget(FULL), [pod(), pod(), pod({ nodeName: "new" })]);
  expect(checks.map(({ message }) => message)).toEqual([
    expect.stringContaining("asks for 2 ready pods and has 2. Pods of it on nodes that are replaced: 2."),
  ]);
});

test("pods are asked for by the selector of the budget, in its namespace", async () => {
  const matchExpressions = [
    { key: "a", operator: "In", values: ["b", "c"] },
    { key: "d", operator: "NotIn", values: ["e"] },
    { key: "f", operator: "Exists" },
    { key: "g", operator: "DoesNotExist" },
  ];
  const selector = { matchLabels: { app: "web", tier: "a" }, matchExpressions };
  const { asked } = await check(budget(FULL, { selector }), []);
  expect(asked).toEqual(["shop app=web,tier=a,a in (b,c),d notin (e),f,!g"]);
  expect((await check(budget(FULL), [])).asked).toEqual(["shop "]);
});
