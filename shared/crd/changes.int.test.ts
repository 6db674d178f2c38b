import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Kind, KubeObject } from "../kube/kind.ts";
import { clusterKind, clusterTransitionRules } from "./cluster.ts";
import { clusterAccessKind, clusterAccessTransitionRules } from "./cluster-access.ts";
import { nodePoolKind, nodePoolTransitionRules } from "./node-pool.ts";
import { findTransitionFaults, type TransitionRule } from "./rule.ts";
import {
  type Answers,
  bothAnswer,
  clusterAccessSpec,
  idleClusterSpec,
  nodePoolSpec,
  objectOf,
  openTestApi,
  refusalOf,
  type TestApi,
} from "./testing.ts";

/** A stored spec, the spec that shall replace it, and the complaint that this must meet. */
interface ChangeCase {
  title: string;
  from?: object;
  to: object;
  refused?: string;
}

const taint = { key: "batch", effect: "NoSchedule" };

const clusterChanges: ChangeCase[] = [
  {
    title: "what may change",
    to: { displayName: "Shop", controlPlaneReplicas: 5, network: { authorizedCIDRs: ["10.0.0.0/8"] } },
  },
  { title: "the same plan", from: { plan: "dev" }, to: { plan: "dev" } },
  {
    title: "another plan",
    from: { plan: "dev" },
    to: { plan: "growth" },
    refused: "spec.plan: Forbidden: cannot be added, changed or removed after the cluster was created",
  },
  { title: "a plan added later", to: { plan: "dev" }, refused: "spec.plan: Forbidden" },
  { title: "a plan removed", from: { plan: "dev" }, to: {}, refused: "spec.plan: Forbidden" },
  {
    title: "a public endpoint taken away",
    to: { publicEndpoint: false },
    refused:
      "spec.publicEndpoint: Forbidden: cannot be changed after the cluster was created; create another cluster instead",
  },
  {
    title: "a public endpoint given",
    from: { publicEndpoint: false },
    to: { publicEndpoint: true },
    refused: "spec.publicEndpoint: Forbidden",
  },
  { title: "credentials renewed for the first time", to: { credentialsGeneration: 1 } },
  {
    title: "credentials renewed again",
    from: { credentialsGeneration: 1 },
    to: { credentialsGeneration: 2 },
  },
  {
    title: "credentials set back",
    from: { credentialsGeneration: 2 },
    to: { credentialsGeneration: 1 },
    refused: "spec.credentialsGeneration: Invalid value: can only rise, and cannot be removed",
  },
  {
    title: "credentials forgotten",
    from: { credentialsGeneration: 2 },
    to: {},
    refused: "spec.credentialsGeneration: Invalid value: can only rise",
  },
];

const onceSet = (field: string, value: number): ChangeCase[] => [
  { title: `${field} set later`, to: { [field]: value } },
  { title: `${field} changed`, from: { [field]: value }, to: { [field]: value + 1 } },
  {
    title: `${field} removed`,
    from: { [field]: value },
    to: {},
    refused: `spec.${field}: Forbidden: cannot be removed once it is set; set another value instead`,
  },
];

const nodePoolChanges: ChangeCase[] = [
  {
    title: "what may change",
    to: {
      vcpus: 8,
      memoryGB: 32,
      diskGB: 50,
      desiredNodes: 1,
      displayName: "Web",
      nodeLabels: { tier: "web" },
    },
  },
  { title: "totals removed", from: { maxVCPUs: 8, nodeLabels: { a: "b" } }, to: {} },
  {
    title: "another cluster",
    to: { clusterName: "other" },
    refused:
      "spec.clusterName: Forbidden: cannot be changed; a pool stays in the cluster that it was created for",
  },
  { title: "the same taints", from: { nodeTaints: [taint] }, to: { nodeTaints: [taint] } },
  {
    title: "another taint",
    from: { nodeTaints: [taint] },
    to: { nodeTaints: [{ ...taint, value: "x" }] },
    refused:
      "spec.nodeTaints: Forbidden: cannot be changed after the pool was created; create another pool with the taints that you want",
  },
  { title: "a taint added later", to: { nodeTaints: [taint] }, refused: "spec.nodeTaints: Forbidden" },
  { title: "taints removed", from: { nodeTaints: [taint] }, to: {}, refused: "spec.nodeTaints: Forbidden" },
  ...onceSet("drainTimeoutSeconds", 60),
  ...onceSet("scaleDownDelaySeconds", 60),
  ...onceSet("scaleDownUtilizationPercent", 50),
];

const frozen = "spec: Forbidden: an access cannot be changed; delete it and create another";
const clusterAccessChanges: ChangeCase[] = [
  { title: "nothing", to: {} },
  { title: "another cluster", to: { clusterName: "other" }, refused: frozen },
  { title: "another subject", to: { subject: "bob" }, refused: frozen },
  { title: "a longer time", to: { ttlSeconds: 601 }, refused: frozen },
  { title: "another request", to: { csr: clusterAccessSpec.csr.replace("MIHs", "MIHt") }, refused: frozen },
];

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

let created = 0;

/** Stores the old spec, tries the new one, and asks the rules in TypeScript the same question. */
async function answersToChange<T extends KubeObject & { spec: object }>(
  kind: Kind<T>,
  rules: readonly TransitionRule<T["spec"]>[],
  base: object,
  { from = {}, to }: ChangeCase,
): Promise<Answers> {
  const metadata = { name: `object-${++created}`, namespace: api.namespace };
  const written = { fieldManager: "test" };
  const stored = await api.client.create(kind, objectOf(kind, metadata, { ...base, ...from }), written);
  const spec = {
    ...base,
    ...("publicEndpoint" in stored.spec ? { publicEndpoint: true } : {}),
    ...to,
  } as T["spec"];
  const operations = [{ op: "replace" as const, path: "/spec", value: spec }];
  const attempt = api.client.jsonPatch(kind, api.namespace, metadata.name, operations, {
    ...written,
    dryRun: true,
  });
  const refusal = await refusalOf(attempt);
  await api.client.delete(kind, api.namespace, metadata.name);
  return { refusal, accepted: findTransitionFaults(rules, spec, stored.spec).length === 0 };
}

describe("a Cluster meets", () => {
  test.each(clusterChanges)("$title", async (one) => {
    expect(await answersToChange(clusterKind, clusterTransitionRules, idleClusterSpec, one)).toEqual(
      bothAnswer(one.refused),
    );
  });
});

describe("a NodePool meets", () => {
  test.each(nodePoolChanges)("$title", async (one) => {
    expect(await answersToChange(nodePoolKind, nodePoolTransitionRules, nodePoolSpec, one)).toEqual(
      bothAnswer(one.refused),
    );
  });
});

describe("a ClusterAccess meets", () => {
  test.each(clusterAccessChanges)("$title", async (one) => {
    expect(
      await answersToChange(clusterAccessKind, clusterAccessTransitionRules, clusterAccessSpec, one),
    ).toEqual(bothAnswer(one.refused));
  });
});
