import { expect, test } from "vitest";
import { NO_OTHER_LABEL } from "../../shared/crd/node-metadata.ts";
import {
  type Check,
  checkAutoscaler,
  checkCapiVersion,
  checkGates,
  checkNetworks,
  checkNodeLabels,
  checkPlans,
  checkRights,
  formatCheck,
  type LabelledNode,
  listNeededRights,
} from "./checks.ts";

const TWO_PLANS = { default: {}, large: {} };
const READ_PROVIDER = { verb: "get", group: "infrastructure.example.com", resource: "exampleclusters" };

test.each<[string, Check[], string[]]>([
  ["both gates", checkGates({ topology: true, taints: true }), ["ok"]],
  ["no gate for taints", checkGates({ topology: true, taints: false }), ["warning"]],
  ["no topology", checkGates({ topology: false, taints: undefined }), ["failed"]],
  ["no answer", checkGates({ topology: undefined, taints: undefined }), ["failed"]],
  [
    "plans",
    checkPlans(
      {
        a: { class: "whole", zones: ["one"], nodeTaints: true },
        b: { class: "poor", nodeTaints: { no: "It has none." } },
        c: { class: { no: "It is not there." } },
        d: { class: { no: "None is named." } },
      },
      { a: {}, b: {}, c: {} },
    ),
    ["ok", "warning", "warning", "warning"],
  ],
  [
    "plans without a class, but for one",
    checkPlans({ default: { class: "whole" }, large: { class: { no: "It is not there." } } }, TWO_PLANS),
    ["ok", "warning"],
  ],
  [
    "configured plans without a class",
    checkPlans(
      {
        default: { class: { no: "It is not there." } },
        large: { class: { no: "It is not there." } },
        other: { class: { no: "None is named." } },
      },
      TWO_PLANS,
    ),
    ["failed", "failed", "warning"],
  ],
  ["rights", checkRights({ needed: [], providers: [] }), ["ok"]],
  ["no right", checkRights({ needed: listNeededRights("marina"), providers: [READ_PROVIDER] }), ["failed"]],
  ["no right to read a provider", checkRights({ needed: [], providers: [READ_PROVIDER] }), ["warning"]],
  ["an autoscaler", [checkAutoscaler("autoscaler:1"), checkAutoscaler(undefined)], ["ok", "warning"]],
  ["networks", [checkNetworks(["192.0.2.0/24"]), checkNetworks([])], ["ok", "warning"]],
])("%s", (_, checks, states) => {
  expect(checks.map(({ state }) => state)).toEqual(states);
  for (const check of checks) expect(formatCheck(check)).toMatch(/^(ok|warning|failed) +[\w ]+: .+\.$/);
});

test("the rights to add-ons and registrations, which an installation from before lacks, are asked for: without them it does not start", () => {
  const asked = listNeededRights("marina").map(({ verb, resource, namespace }) =>
    [verb, resource, ...(namespace === undefined ? [] : [`in ${namespace}`])].join(" "),
  );
  expect(asked).toEqual(
    expect.arrayContaining([
      "watch clusterresourcesets",
      "create clusterresourcesets",
      "watch clusterresourcesetbindings",
      "watch configmaps",
      "create configmaps",
      "create clusteraccesses",
    ]),
  );
});

test.each<[string, Parameters<typeof checkCapiVersion>[0], string, RegExp]>([
  [
    "a tag",
    [{ name: "capi-system/manager", images: ["proxy:1", "registry.k8s.io/capi:v1.14.0"] }],
    "ok",
    /^Cluster API is v1\.14\.0 \(Deployment capi-system\/manager\)\.$/,
  ],
  [
    "a tag and a digest",
    [{ name: "a/b", images: ["registry:5000/capi:v1.14.1@sha256:0"] }],
    "ok",
    /v1\.14\.1 /,
  ],
  [
    "a digest alone",
    [{ name: "a/b", images: ["capi@sha256:0"] }],
    "unknown",
    /has an image with one\. Compare/,
  ],
  ["no Deployment", [], "unknown", /no Deployment with the label/],
  ["no right", undefined, "unknown", /may not list Deployments\. Compare/],
])("Cluster API's version: %s", (_, managers, state, text) => {
  const check = checkCapiVersion(managers);
  expect(check).toMatchObject({ about: "cluster api", state, text: expect.stringMatching(text) });
});

test("a plan that lacks something names it", () => {
  const poor = { class: "poor", nodeLabels: { no: "-" }, nodeTaints: { no: "-" } };
  const [check] = checkPlans({ default: poor }, { default: {} });
  expect(check?.text).toContain("without nodeLabels, nodeTaints");
});

const OWN = "cluster.x-k8s.io/cluster-name";
const ALWAYS = [
  "node-role.kubernetes.io/web",
  "node-restriction.kubernetes.io/a",
  "b.node.cluster.x-k8s.io/c",
];

const nodeWith = (wanted: readonly string[], synced: readonly string[]): LabelledNode => ({
  cluster: "org/demo",
  node: "web-1",
  wanted: [...wanted, ...ALWAYS],
  synced: [...synced, ...ALWAYS],
});

test.each<[string, LabelledNode | undefined, RegExp, string, RegExp]>([
  ["no node", undefined, /.*/, "unknown", /No cluster has a node yet/],
  ["a flag for all labels", nodeWith([OWN, "tier"], [OWN, "tier"]), /.*/, "ok", /reach nodes/],
  ["a flag for some", nodeWith([OWN, "a.io/b"], ["a.io/b"]), /^a\.io\//, "ok", /a\.io\/b/],
  ["no flag, as told", nodeWith([OWN, "tier"], []), NO_OTHER_LABEL, "warning", /sets no labels.*labels=\.\*/],
  ["no flag, other than told", nodeWith([OWN, "tier"], []), /.*/, "warning", /lacks.*Start.*labels=\.\*/],
  [
    "a narrower flag than told",
    nodeWith(["a.io/b", "c.io/d"], ["a.io/b"]),
    /^[ac]\.io/,
    "warning",
    /c\.io\/d/,
  ],
  ["a flag that is not told", nodeWith([OWN], [OWN]), NO_OTHER_LABEL, "warning", /refused without need/],
  ["no label that is configured", nodeWith([OWN], []), /^a\.io\//, "unknown", /no label that/],
])("%s", (_, found, syncedNodeLabels, state, text) => {
  const check = checkNodeLabels(found, syncedNodeLabels);
  expect(check).toMatchObject({ state, text: expect.stringMatching(text) });
  expect(formatCheck(check)).toMatch(/^(ok|unknown|warning) +labels: .+\.$/);
});
