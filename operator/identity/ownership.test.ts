import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterOfAdminSecret, nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { aCluster, anCapiCluster, CLUSTER_ID } from "../cluster/testing.ts";
import { decideOwnership, findPoolObjects } from "./ownership.ts";

const LABEL = "cloud.marina.dev/id";
const owner = (uid: string) => ({
  apiVersion: "cloud.marina.dev/v1",
  kind: "Cluster",
  name: "blue",
  uid,
});
const unlabelled = aCluster({}, { metadata: { ...aCluster().metadata, labels: {} } });

describe("a Cluster API cluster is Marina's", () => {
  test.each<[string, boolean, ReturnType<typeof aCluster> | undefined, object]>([
    ["by the uid of its owner", true, aCluster(), { ownerReferences: [owner("cluster-uid")], labels: {} }],
    [
      "by the public id, when its owner is the Cluster of before a restore",
      true,
      aCluster(),
      { ownerReferences: [owner("uid-old")], labels: { [LABEL]: CLUSTER_ID } },
    ],
    ["not with another owner", false, aCluster(), { ownerReferences: [owner("uid-other")], labels: {} }],
    ["not with another public id", false, aCluster(), { ownerReferences: [], labels: { [LABEL]: "x" } }],
    ["not without owner and id", false, aCluster(), { ownerReferences: [], labels: {} }],
    ["not when both have no id", false, unlabelled, { ownerReferences: [], labels: {} }],
    [
      "by any public id, without its Cluster",
      true,
      undefined,
      { ownerReferences: [], labels: { [LABEL]: "x" } },
    ],
    ["not without a public id, without its Cluster", false, undefined, { ownerReferences: [], labels: {} }],
  ])("%s", (_name, isOwn, cluster, metadata) => {
    const { capi, nameTaken } = decideOwnership(cluster, anCapiCluster({ metadata }));
    expect({ isOwn: capi !== undefined, nameTaken }).toEqual({ isOwn, nameTaken: !isOwn });
  });

  test("a missing one is neither ours nor foreign", () => {
    expect(decideOwnership(aCluster(), undefined)).toEqual({ capi: undefined, nameTaken: false });
  });
});

test.each([
  ["of a cluster of ours are found", CLUSTER_ID, 1],
  ["of a cluster of somebody else are not: none of its machines is counted, replaced or deleted", "x", 0],
])("the objects of a pool %s", (_name, id, found) => {
  const object = anCapiCluster({ metadata: { ownerReferences: [], labels: { [LABEL]: id } } });
  const one = { byIndex: () => [{ metadata: { name: "m1" } }] };
  const caches = {
    clusters: { get: () => aCluster() },
    capiClusters: { get: () => object },
    machineDeployments: one,
    machineSets: one,
    machines: one,
  } as unknown as Parameters<typeof findPoolObjects>[0];
  const { machineDeployments, sets, machines } = findPoolObjects(caches, "org-x/blue", "web");
  expect([machineDeployments, sets, machines].map((list) => list.length)).toEqual([found, found, found]);
});

test("no controller reads a Cluster API cluster without asking whose it is", async () => {
  const readers: string[] = [];
  for await (const file of glob("**/*.ts", { cwd: import.meta.dirname })) {
    // fleet-metrics.ts is no controller: it counts those whose Cluster is missing.
    if (["ownership.ts", "fleet-metrics.ts"].includes(file) || /test|bench/.test(file)) continue;
    if (
      /capiClusters\s*\.(get|list|byIndex|keys)\(/.test(readFileSync(join(import.meta.dirname, file), "utf8"))
    )
      readers.push(file);
  }
  expect(readers).toEqual([]);
});

describe("the Secret of an admin kubeconfig", () => {
  const parts = ["a", "foo", "admin", "kubeconfig", "ca", "etcd", "proxy", "sa", "cloud", "marina", "dev"];
  const pairs = parts.flatMap((left) => parts.map((right) => `${left}-${right}`));
  const names = [...parts, ...pairs, ...pairs.map((pair) => `${pair}-admin-kubeconfig`)];
  const ofClusterAPI = ["kubeconfig", "ca", "etcd", "proxy", "sa", "cluster-cert", "apiserver-etcd-client"];

  test("has the name of no Secret of Cluster API, for any pair of clusters", () => {
    const taken = new Set(names.flatMap((name) => ofClusterAPI.map((suffix) => `${name}-${suffix}`)));
    expect(names.map(nameAdminSecret).filter((name) => taken.has(name))).toEqual([]);
  });

  test("names its cluster, and no other name does", () => {
    expect(names.map(nameAdminSecret).map(clusterOfAdminSecret)).toEqual(names);
    expect(clusterOfAdminSecret("foo-admin-kubeconfig")).toBeUndefined();
  });
});
