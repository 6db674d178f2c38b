import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { LABEL_CLUSTER_CLASS } from "../../shared/crd/names.ts";
import { selectsCluster } from "./add-ons.ts";

test.each<[Parameters<typeof selectsCluster>[0], boolean]>([
  [{}, false],
  [{ matchLabels: { a: "1" } }, true],
  [{ matchLabels: { a: "2" } }, false],
  [{ matchExpressions: [{ key: "a", operator: "In", values: ["1", "2"] }] }, true],
  [{ matchExpressions: [{ key: "a", operator: "NotIn", values: ["1"] }] }, false],
  [{ matchExpressions: [{ key: "b", operator: "NotIn", values: ["1"] }] }, true],
  [{ matchExpressions: [{ key: "a", operator: "Exists" }] }, true],
  [{ matchExpressions: [{ key: "a", operator: "DoesNotExist" }] }, false],
  [{ matchLabels: { a: "1" }, matchExpressions: [{ key: "b", operator: "Exists" }] }, false],
])("the selector %j selects a cluster with the label a=1: %s", (selector, selects) => {
  expect(selectsCluster(selector, { a: "1" })).toBe(selects);
});

const ROOT = join(import.meta.dirname, "..", "..");
const readYaml = (...path: string[]) => parse(readFileSync(join(ROOT, ...path), "utf8"));

test.each(["aws", "gcp", "openstack", "vsphere"])(
  "the example of the cloud controller of %s selects the clusters of the chart's class",
  (provider) => {
    const { clusterSelector } = readYaml("examples", "add-ons", `cloud-controller-${provider}.yaml`).spec;
    const { name } = readYaml("charts", "marina-classes", "values.yaml")[provider];
    expect(selectsCluster(clusterSelector, { [LABEL_CLUSTER_CLASS]: name })).toBe(true);
  },
);
