import { describe, expect, test } from "vitest";
import { clusterSpecSchema } from "../../../shared/crd/cluster.ts";
import type { VersionCatalogue } from "../../../shared/crd/kubernetes-version.ts";
import { nodePoolSpecSchema } from "../../../shared/crd/node-pool.ts";
import { toNodePoolObject } from "../../node-pools/collection.ts";
import { createClusterBody } from "../schema.ts";
import { findCreateViolations, toClusterObject, toNewCluster } from "./create-cluster.ts";

const CATALOGUE: VersionCatalogue = [
  { version: "1.33.6", status: "endOfLife" },
  { version: "1.34.1", status: "deprecated" },
  { version: "1.34.2", status: "supported" },
];
const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 2 };
const IDENTITY = {
  orgId: "org-id",
  namespace: "org-org-id",
  clusterId: "cluster-id",
  objectName: "first-abcde",
  requestId: "request-id",
  nodePools: [{ id: "pool-id", objectName: "general-abcde" }],
};

function check(body: unknown): string[] {
  return findCreateViolations(createClusterBody.parse(body), CATALOGUE, undefined).map(
    ({ field, code }) => `${field}/${code}`,
  );
}

test.each<[string, Record<string, unknown>, string[]]>([
  ["a minor of the catalogue", {}, []],
  ["a full version of the catalogue", { k8s_version: "1.34.1" }, []],
  ["an unknown version", { k8s_version: "1.30" }, ["k8s_version/invalid_enum"]],
  ["a version past its end of life", { k8s_version: "1.33.6" }, ["k8s_version/invalid_enum"]],
  ["a minor with no supported patch", { k8s_version: "1.33" }, ["k8s_version/invalid_enum"]],
  ["a pool", { node_pools: [POOL] }, []],
  [
    "a pool that breaks a rule",
    { node_pools: [POOL, { ...POOL, name: "b", max_nodes: 1 }] },
    ["node_pools[1].desired_nodes/desired_gt_max"],
  ],
  [
    "two pools of one name, letter case aside",
    { node_pools: [POOL, { ...POOL, name: "GENERAL" }] },
    ["node_pools[1].name/duplicate"],
  ],
])("checking %s", (_, change, details) => {
  expect(check({ name: "First", k8s_version: "1.34", ...change })).toEqual(details);
});

test.each<[string, string[], number]>([
  ["two, sent in three forms", ["10.0.0.5/8", "10.0.0.0/8", "198.51.100.0/24"], 0],
  ["three", ["10.0.0.0/8", "198.51.100.0/24", "203.0.113.0/24"], 1],
])("where a list has at most two blocks, %s", (_, authorized_cidrs, refusals) => {
  const body = createClusterBody.parse({ name: "First", k8s_version: "1.34", authorized_cidrs });
  const capabilities = { class: "short", authorizedCIDRs: true as const, maxAuthorizedCIDRs: 2 };
  const details = findCreateViolations(body, CATALOGUE, capabilities);
  expect(
    details.filter(({ field, code }) => field === "authorized_cidrs" && code === "unsupported"),
  ).toHaveLength(refusals);
});

describe("the planned objects", () => {
  const body = createClusterBody.parse({
    name: "First",
    k8s_version: "1.34",
    plan: "growth",
    authorized_cidrs: ["203.0.113.0/24"],
    node_pools: [POOL],
  });
  const request = toNewCluster(body, CATALOGUE, IDENTITY);

  test("hold the resolved version, the tenant's settings, and the identity that was fixed", () => {
    expect(toClusterObject(request)).toEqual({
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      metadata: {
        namespace: "org-org-id",
        name: "first-abcde",
        labels: { "cloud.marina.dev/id": "cluster-id", "cloud.marina.dev/org-id": "org-id" },
        annotations: {
          "cloud.marina.dev/request-id": "request-id",
          "cloud.marina.dev/identity": "new",
          "cloud.marina.dev/authorized-cidrs": '["203.0.113.0/24"]',
        },
        finalizers: ["cloud.marina.dev/operator"],
      },
      spec: {
        displayName: "First",
        version: "1.34.2",
        plan: "growth",
        publicEndpoint: true,
        network: { authorizedCIDRs: ["203.0.113.0/24"] },
      },
    });
  });

  test("give a pool its bounds from desired_nodes, and nothing that has a platform default", () => {
    const [pool] = request.nodePools;
    if (pool === undefined) throw new Error("no pool");
    const object = toNodePoolObject(request, pool);
    expect(object.metadata.labels).toEqual({
      "cloud.marina.dev/id": "pool-id",
      "cloud.marina.dev/org-id": "org-id",
      "cloud.marina.dev/cluster-id": "cluster-id",
    });
    expect(JSON.parse(JSON.stringify(object.spec))).toEqual({
      clusterName: "first-abcde",
      displayName: "general",
      vcpus: 2,
      memoryGB: 4,
      diskGB: 20,
      desiredNodes: 2,
      minNodes: 2,
      maxNodes: 2,
    });
  });

  test("are what the custom resources accept", () => {
    expect(clusterSpecSchema.safeParse(request.spec).success).toBe(true);
    for (const pool of request.nodePools) expect(nodePoolSpecSchema.safeParse(pool.spec).success).toBe(true);
  });
});

test.each([{}, { plan: null }])("a body with %j is billed per resource: the spec has no plan", (change) => {
  const body = createClusterBody.parse({ name: "First", k8s_version: "1.34", ...change });
  expect(toNewCluster(body, CATALOGUE, IDENTITY).spec).not.toHaveProperty("plan");
});

test.each<[string, Record<string, unknown>]>([
  ["no name", { name: undefined }],
  ["a version that is none", { k8s_version: "latest" }],
  ["a bare address", { authorized_cidrs: ["203.0.113.7"] }],
  ["a plan that is not sold", { plan: "gold" }],
  ["an unknown field", { version: "1.34" }],
  ["a pool without its size", { node_pools: [{ name: "x", desired_nodes: 1 }] }],
])("a body with %s is refused", (_, change) => {
  expect(createClusterBody.safeParse({ name: "First", k8s_version: "1.34", ...change }).success).toBe(false);
});
