import { expect, test } from "vitest";
import { findUntruths, type Installing } from "./record-rules.ts";

const CLUSTERS = "/api/v1/organizations/o/clusters";
const CLUSTER = {
  id: "c",
  status: "running",
  k8s_version: "1.34.2",
  current_version: "1.34.2",
  node_pools: { total: 1, ready: 1 },
};
const UPGRADING = { ...CLUSTER, status: "upgrading", k8s_version: "1.35.1" };
const POOL = { id: "p", status: "ready", desired_nodes: 1, generation: 2, observed_generation: 2 };
const offer = (...versions: string[]) => ({ items: versions.map((version) => ({ version })) });

test.each<[string, string | undefined, object]>([
  ["a ready pool", undefined, POOL],
  ["a ready pool whose change was not seen", "not seen", { ...POOL, generation: 3 }],
  ["one of a list", "not seen", { items: [POOL, { ...POOL, generation: 3 }] }],
  ["a scaling pool whose change was not seen", undefined, { ...POOL, status: "scaling", generation: 3 }],
  ["a cluster with all its pools ready", undefined, CLUSTER],
  ["a cluster with more", "more pools", { ...CLUSTER, node_pools: { total: 1, ready: 2 } }],
])("%s", (_name, untruth, body) => {
  const found = findUntruths(CLUSTERS, body, new Map());
  expect(found).toHaveLength(untruth === undefined ? 0 : 1);
  expect(found.join()).toContain(untruth ?? "");
});

test.each<[string, string[], object, string[]]>([
  ["newer versions", [], UPGRADING, ["1.35.2", "1.36.0"]],
  ["the version that is being installed", ["1.35.1"], UPGRADING, ["1.35.1", "1.36.0"]],
  ["an older one", ["1.34.9"], UPGRADING, ["1.34.9"]],
  ["any version of a cluster that installs none", [], CLUSTER, ["1.34.2"]],
])("an offer of %s", (_name, wrong, record, versions) => {
  const installing: Installing = new Map();
  findUntruths(CLUSTERS, { items: [UPGRADING] }, installing);
  findUntruths(`${CLUSTERS}/c`, record, installing);
  const found = findUntruths(`${CLUSTERS}/c/upgrades`, offer(...versions), installing);
  expect(found).toEqual(wrong.map((version) => expect.stringContaining(`offers ${version}`)));
  expect(findUntruths(`${CLUSTERS}/other/upgrades`, offer(...versions), installing)).toEqual([]);
});
