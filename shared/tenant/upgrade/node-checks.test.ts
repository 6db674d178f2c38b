import { expect, test } from "vitest";
import type { TenantClient } from "../tenant-client.ts";
import { listNodes, readSkewChecks } from "./node-checks.ts";
import type { UpgradeCheck } from "./upgrade-check.ts";

/** The checks of an upgrade to 1.35.1 of a cluster with nodes of these kubelets. */
async function check(...columns: { Version: string; Status?: string }[]) {
  const nodes = columns.map((of, index) => ({
    metadata: { name: `node-${index}` },
    columns: { Status: "Ready", ...of },
  }));
  const listPage: TenantClient["listPage"] = async ({ schema }) => ({
    items: nodes.map((node) => schema.parse(node)),
    next: undefined,
  });
  const checks: UpgradeCheck[] = [];
  for await (const one of readSkewChecks(listNodes({ listPage }), ["1.35.1"])) checks.push(one.check);
  return checks.map(({ check: kind, severity, object }) => [kind, severity, object.kind, object.name]);
}

// https://kubernetes.io/releases/version-skew-policy/#kubelet
test.each<[string, string, string[]]>([
  ["of the target is supported", "v1.35.1", []],
  ["three minor versions older is supported", "v1.32.0", []],
  ["four minor versions older blocks", "v1.31.14", ["version_skew", "blocking"]],
  ["of an earlier major version blocks", "v0.34.1", ["version_skew", "blocking"]],
  ["a patch newer than the target is supported", "v1.35.9", []],
  ["a minor version newer is a warning", "v1.36.0", ["version_skew", "warning"]],
  ["of a later major version is a warning", "v2.0.0", ["version_skew", "warning"]],
  ["of a vendor counts by its minor version", "v1.31.4+k3s1", ["version_skew", "blocking"]],
  ["of a version that is none is unknown", "N/A", ["unknown", "warning"]],
  ["without a version is unknown", "", ["unknown", "warning"]],
])("a kubelet %s", async (_name, version, expected) => {
  const checks = await check({ Version: version });
  expect(checks).toEqual(expected.length === 0 ? [] : [[...expected, "Node", "node-0"]]);
});

test.each([
  ["version", { Version: "1".repeat(257) }],
  ["status", { Version: "v1.35.1", Status: "x".repeat(257) }],
])("a %s of more than 256 characters is none of Kubernetes", async (_name, columns) => {
  await expect(check(columns)).rejects.toThrow(/256/);
});
