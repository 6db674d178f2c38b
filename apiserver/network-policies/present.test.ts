import { expect, test } from "vitest";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { presentNetworkPolicy } from "./present.ts";
import { networkPolicyRecord } from "./schema.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

function project(network?: ProjectedCluster["object"]["spec"]["network"], sent?: string): ProjectedCluster {
  const annotations = sent === undefined ? {} : { "cloud.marina.dev/authorized-cidrs": sent };
  const spec = { version: "1.34.2", publicEndpoint: true, ...(network === undefined ? {} : { network }) };
  return {
    uid: "u",
    id: ID,
    orgId: ID,
    namespace: "n",
    name: "first",
    displayName: "first",
    resourceVersion: 1n,
    updatedAt: new Date(0),
    networkUpdatedAt: new Date("2026-11-21T09:00:00Z"),
    externalWriters: [],
    status: "running",
    object: {
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      metadata: { name: "first", annotations },
      spec,
    },
  };
}

test("the policy of a new cluster has defaults", () => {
  const policy = presentNetworkPolicy(project());
  expect(policy).toEqual({ cluster_id: ID, authorized_cidrs: [], updated_at: "2026-11-21T09:00:00.000Z" });
  expect(networkPolicyRecord.safeParse(policy).success).toBe(true);
});

test.each([
  ["what the tenant set", ["203.0.113.0/24"]],
  ["what kubectl set, in the form it was set", ["2001:DB8::/32"]],
])("a policy shows %s", (_, authorizedCIDRs) => {
  const network = { authorizedCIDRs, apiServerRateLimit: { maxConnectionsPerSecond: 10, burst: 20 } };
  expect(presentNetworkPolicy(project(network))).toMatchObject({
    authorized_cidrs: authorizedCIDRs,
    api_server_rate_limit: { max_connections_per_second: 10, burst: 20 },
  });
});

test.each([
  ["as they were sent", '["203.0.113.9/24","203.0.113.0/24"]', ["203.0.113.9/24", "203.0.113.0/24"]],
  ["as kubectl has set them since", '["198.51.100.0/24"]', ["203.0.113.0/24"]],
  ["as they apply when the annotation is no list", "{", ["203.0.113.0/24"]],
])("the blocks are shown %s", (_, sent, shown) => {
  const network = { authorizedCIDRs: ["203.0.113.0/24"] };
  expect(presentNetworkPolicy(project(network, sent)).authorized_cidrs).toEqual(shown);
});
