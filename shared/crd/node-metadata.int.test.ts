import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { nodePoolDefinition } from "./definitions.ts";
import { bothReturn, list, long, nodePoolSpec, openTestApi, type SpecCase, validateSpec } from "./testing.ts";

const api = setUp(openTestApi);

const pool = (change: object) => ({ ...nodePoolSpec, ...change });
const longestKey = (index: number) => `${"a.".repeat(126)}a/${long(61)}${index + 10}`;
const labels = (count: number) => Object.fromEntries(list(count, (index) => [`key-${index}`, "x"]));
const labelled = (nodeLabels: object) => pool({ nodeLabels });
const tainted = (...nodeTaints: object[]) => pool({ nodeTaints });
const taint = { key: "shop.example/batch", value: "true", effect: "NoSchedule" };
const badKey = "spec.nodeLabels: Invalid value: must have keys that are names";
const reservedKey =
  "spec.nodeLabels: Invalid value: must have no keys under kubernetes.io, k8s.io, cluster.x-k8s.io and cloud.marina.dev";

const nodeMetadataCases: SpecCase[] = [
  ...[
    "tier",
    "Tier_1.a",
    "shop.example/tier",
    "node-role.kubernetes.io/web",
    "mykubernetes.io/tier",
    "x-k8s.io/tier",
    "machine-template-hash-2",
    "shop.example/machine-template-hash",
    "kubernetes.io",
    `${"a.".repeat(126)}a/${long(63)}`,
  ].map((key) => ({ title: `label ${key}`, spec: labelled({ [key]: "x" }) })),
  ...[
    "",
    "-tier",
    "tier-",
    "a/b/c",
    "/tier",
    "shop.example/",
    "Shop.example/tier",
    "shop..example/tier",
    "tier!",
    long(64),
    `${"a.".repeat(126)}ab/x`,
  ].map((key) => ({ title: `label "${key}"`, spec: labelled({ [key]: "x" }), rejected: badKey })),
  ...[
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "node.kubernetes.io/instance-type",
    "k8s.io/x",
    "a.b.k8s.io/x",
    "cluster.x-k8s.io/cluster-name",
    "topology.cluster.x-k8s.io/owned",
    "cloud.marina.dev/id",
    "replace.cloud.marina.dev/x",
    "machine-template-hash",
    "sub.node-role.kubernetes.io/web",
  ].map((key) => ({ title: `label ${key}`, spec: labelled({ [key]: "x" }), rejected: reservedKey })),
  { title: "an empty label value", spec: labelled({ tier: "" }) },
  {
    title: "a label value of 64 characters",
    spec: labelled({ tier: long(64) }),
    rejected: "spec.nodeLabels.tier: Too long: may not be more than 63 bytes",
  },
  {
    title: "a label value with a blank",
    spec: labelled({ tier: "a b" }),
    rejected: "spec.nodeLabels.tier in body should match",
  },
  {
    title: "64 labels with the longest keys",
    spec: labelled(Object.fromEntries(list(64, (index) => [longestKey(index), long(63)]))),
  },
  { title: "64 labels", spec: labelled(labels(64)) },
  {
    title: "65 labels",
    spec: labelled(labels(65)),
    rejected: "spec.nodeLabels: Too many: 65: must have at most 64 items",
  },
  ...["tier", "shop.example/tier", "machine-template-hash", "my-k8s.io/tier"].map((key) => ({
    title: `label of the pool ${key}`,
    spec: pool({ labels: { [key]: "" } }),
  })),
  ...["node-role.kubernetes.io/web", "k8s.io/x", "x.cluster.x-k8s.io/y", "cloud.marina.dev/id"].map(
    (key) => ({
      title: `label of the pool ${key}`,
      spec: pool({ labels: { [key]: "" } }),
      rejected:
        "spec.labels: Invalid value: must have no keys under kubernetes.io, k8s.io, cluster.x-k8s.io and cloud.marina.dev",
    }),
  ),
  {
    title: "a label of the pool whose key is none",
    spec: pool({ labels: { "a b": "" } }),
    rejected: "spec.labels: Invalid value: must have keys that are names",
  },
  {
    title: "32 labels of the pool with the longest keys",
    spec: pool({ labels: Object.fromEntries(list(32, (index) => [longestKey(index), long(63)])) }),
  },
  {
    title: "33 labels of the pool",
    spec: pool({ labels: labels(33) }),
    rejected: "spec.labels: Too many: 33: must have at most 32 items",
  },
  { title: "a taint", spec: tainted(taint) },
  { title: "a taint without value", spec: tainted({ key: "batch", effect: "NoExecute" }) },
  { title: "one key with two effects", spec: tainted(taint, { ...taint, effect: "NoExecute" }) },
  {
    title: "the same key and effect twice",
    spec: tainted(taint, { ...taint, value: "false" }),
    rejected: "spec.nodeTaints: Invalid value: must not have two taints with the same key and effect",
  },
  {
    title: "a taint without key",
    spec: tainted({ effect: "NoSchedule" }),
    rejected: "spec.nodeTaints[0].key: Required value",
  },
  {
    title: "a taint without effect",
    spec: tainted({ key: "batch" }),
    rejected: "spec.nodeTaints[0].effect: Required value",
  },
  {
    title: "an unknown effect",
    spec: tainted({ ...taint, effect: "Never" }),
    rejected: 'spec.nodeTaints[0].effect: Unsupported value: "Never"',
  },
  {
    title: "a taint key with a blank",
    spec: tainted({ ...taint, key: "a b" }),
    rejected: "spec.nodeTaints[0].key in body should match",
  },
  {
    title: "a taint with an empty value",
    spec: tainted({ ...taint, value: "" }),
    rejected: "spec.nodeTaints[0].value in body should be at least 1 chars long",
  },
  {
    title: "a taint of the platform",
    spec: tainted({ ...taint, key: "node.kubernetes.io/unreachable" }),
    rejected: "spec.nodeTaints: Invalid value: must have no keys under kubernetes.io",
  },
  {
    title: "the control plane's taint",
    spec: tainted({ ...taint, key: "node-role.kubernetes.io/control-plane" }),
    rejected: "spec.nodeTaints: Invalid value: must have no keys under kubernetes.io",
  },
  { title: "a taint of a role", spec: tainted({ ...taint, key: "node-role.kubernetes.io/batch" }) },
  {
    title: "32 taints with the longest keys",
    spec: tainted(...list(32, (index) => ({ ...taint, key: longestKey(index) }))),
  },
  { title: "32 taints", spec: tainted(...list(32, (index) => ({ ...taint, key: `key-${index}` }))) },
  {
    title: "33 taints",
    spec: tainted(...list(33, (index) => ({ ...taint, key: `key-${index}` }))),
    rejected: "spec.nodeTaints: Too many: 33: must have at most 32 items",
  },
];

describe("a NodePool with", () => {
  test.each(nodeMetadataCases)("$title", async ({ spec, rejected }) => {
    expect(await validateSpec(api, nodePoolDefinition, spec)).toEqual(bothReturn(rejected));
  });
});
