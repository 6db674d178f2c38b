import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import type { Kind, KubeObject } from "../kube/kind.ts";
import { clusterKind, clusterTransitionRules } from "./cluster.ts";
import { clusterAccessKind, clusterAccessTransitionRules } from "./cluster-access.ts";
import { nodePoolKind, nodePoolTransitionRules } from "./node-pool.ts";
import { findTransitionViolations, type TransitionRule } from "./rule.ts";
import {
  bothReturn,
  clusterAccessSpec,
  idleClusterSpec,
  nodePoolSpec,
  objectOf,
  openTestApi,
  rejectionOf,
  type Validation,
} from "./testing.ts";

/** A stored spec, its update, and the expected rejection. */
interface ChangeCase {
  title: string;
  from?: object;
  to: object;
  rejected?: string;
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
    rejected: "spec.plan: Forbidden: cannot be added, changed or removed after the cluster was created",
  },
  { title: "a plan added later", to: { plan: "dev" }, rejected: "spec.plan: Forbidden" },
  { title: "a plan removed", from: { plan: "dev" }, to: {}, rejected: "spec.plan: Forbidden" },
  {
    title: "a public endpoint taken away",
    to: { publicEndpoint: false },
    rejected:
      "spec.publicEndpoint: Forbidden: cannot be changed after the cluster was created; create another cluster instead",
  },
  {
    title: "a public endpoint given",
    from: { publicEndpoint: false },
    to: { publicEndpoint: true },
    rejected: "spec.publicEndpoint: Forbidden",
  },
  {
    title: "the same networks",
    from: { clusterNetwork: { pods: ["10.0.0.0/16"] } },
    to: { clusterNetwork: { pods: ["10.0.0.0/16"] } },
  },
  {
    title: "other networks",
    from: { clusterNetwork: { pods: ["10.0.0.0/16"] } },
    to: { clusterNetwork: { pods: ["10.1.0.0/16"] } },
    rejected:
      "spec.clusterNetwork: Forbidden: cannot be added, changed or removed after the cluster was created",
  },
  {
    title: "networks added later",
    to: { clusterNetwork: { services: ["10.0.0.0/16"] } },
    rejected: "spec.clusterNetwork: Forbidden",
  },
  {
    title: "networks removed",
    from: { clusterNetwork: { services: ["10.0.0.0/16"] } },
    to: {},
    rejected: "spec.clusterNetwork: Forbidden",
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
    rejected:
      "spec.credentialsGeneration: Invalid value: can only increase by one at a time, and cannot be removed",
  },
  {
    title: "credentials renewed twice at once",
    from: { credentialsGeneration: 2 },
    to: { credentialsGeneration: 4 },
    rejected: "spec.credentialsGeneration: Invalid value: can only increase by one",
  },
  {
    title: "credentials renewed for the last time",
    to: { credentialsGeneration: 2_147_483_647 },
    rejected: "spec.credentialsGeneration: Invalid value: can only increase by one",
  },
  {
    title: "credentials forgotten",
    from: { credentialsGeneration: 2 },
    to: {},
    rejected: "spec.credentialsGeneration: Invalid value: can only increase by one",
  },
];

const onceSet = (field: string, value: number): ChangeCase[] => [
  { title: `${field} set later`, to: { [field]: value } },
  { title: `${field} changed`, from: { [field]: value }, to: { [field]: value + 1 } },
  {
    title: `${field} removed`,
    from: { [field]: value },
    to: {},
    rejected: `spec.${field}: Forbidden: cannot be removed once it is set; set another value instead`,
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
    rejected:
      "spec.clusterName: Forbidden: cannot be changed; a pool stays in the cluster that it was created for",
  },
  { title: "the same taints", from: { nodeTaints: [taint] }, to: { nodeTaints: [taint] } },
  {
    title: "another taint",
    from: { nodeTaints: [taint] },
    to: { nodeTaints: [{ ...taint, value: "x" }] },
    rejected:
      "spec.nodeTaints: Forbidden: cannot be changed after the pool was created; create another pool with the desired taints",
  },
  { title: "a taint added later", to: { nodeTaints: [taint] }, rejected: "spec.nodeTaints: Forbidden" },
  { title: "taints removed", from: { nodeTaints: [taint] }, to: {}, rejected: "spec.nodeTaints: Forbidden" },
  ...onceSet("drainTimeoutSeconds", 60),
  ...onceSet("scaleDownDelaySeconds", 60),
  ...onceSet("scaleDownUtilizationPercent", 50),
];

const frozen = "spec: Forbidden: an access cannot be changed; delete it and create another";
const clusterAccessChanges: ChangeCase[] = [
  { title: "nothing", to: {} },
  { title: "another cluster", to: { clusterName: "other" }, rejected: frozen },
  { title: "another subject", to: { subject: "bob" }, rejected: frozen },
  { title: "a longer time", to: { ttlSeconds: 601 }, rejected: frozen },
  { title: "another request", to: { csr: clusterAccessSpec.csr.replace("MIHs", "MIHt") }, rejected: frozen },
];

const api = setUp(openTestApi);

let created = 0;

/** Stores the old spec and validates the new one by the API server and by the rules in TypeScript. */
async function validateChange<T extends KubeObject & { spec: object }>(
  kind: Kind<T>,
  rules: readonly TransitionRule<T["spec"]>[],
  base: object,
  { from = {}, to }: ChangeCase,
): Promise<Validation> {
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
  const rejection = await rejectionOf(attempt);
  await api.client.delete(kind, api.namespace, metadata.name);
  return { rejection, accepted: findTransitionViolations(rules, spec, stored.spec).length === 0 };
}

describe("a Cluster meets", () => {
  test.each(clusterChanges)("$title", async (one) => {
    expect(await validateChange(clusterKind, clusterTransitionRules, idleClusterSpec, one)).toEqual(
      bothReturn(one.rejected),
    );
  });
});

describe("a NodePool meets", () => {
  test.each(nodePoolChanges)("$title", async (one) => {
    expect(await validateChange(nodePoolKind, nodePoolTransitionRules, nodePoolSpec, one)).toEqual(
      bothReturn(one.rejected),
    );
  });
});

describe("a ClusterAccess meets", () => {
  test.each(clusterAccessChanges)("$title", async (one) => {
    expect(
      await validateChange(clusterAccessKind, clusterAccessTransitionRules, clusterAccessSpec, one),
    ).toEqual(bothReturn(one.rejected));
  });
});
