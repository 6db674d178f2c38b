import { z } from "@hono/zod-openapi";
import { authorizedCIDRsSchema } from "../../shared/crd/cidr.ts";
import { clusterSpecSchema } from "../../shared/crd/cluster.ts";
import { KUBERNETES_VERSION_PATTERN } from "../../shared/kubernetes-version.ts";
import { pageQuery, pageSchema } from "../http/page.ts";
import { createNodePoolBody } from "../node-pools/store.ts";
import { CLUSTER_STATUSES } from "../projection/store.ts";

/** The packages that are sold now; a retired one can still stand on a cluster. */
const PLANS = ["dev", "starter", "growth", "scale"] as const;
const MAX_NODE_POOLS = 50;
const timestamp = z.iso.datetime();
const counters = z.object({ total: z.int(), ready: z.int() });

export const clusterName = clusterSpecSchema.shape.displayName.unwrap();

export const clusterRecord = z
  .object({
    id: z.guid(),
    org_id: z.guid(),
    name: z.string(),
    status: z.enum(CLUSTER_STATUSES),
    status_message: z.string().nullable(),
    conditions: z.array(
      z.object({
        type: z.string(),
        status: z.enum(["True", "False", "Unknown"]),
        reason: z.string(),
        message: z.string(),
        last_transition_time: timestamp,
      }),
    ),
    plan: z.string().nullable().openapi({ description: "Null: billed per resource." }),
    k8s_version: z.string().openapi({ description: "The version wanted.", example: "1.34.2" }),
    current_version: z
      .string()
      .optional()
      .openapi({ description: "The version that runs, once a rollout has settled.", example: "1.34.2" }),
    apiserver_url: z.string().optional().openapi({ description: "As observed; absent until reported." }),
    worker_subnet: z.string().optional().openapi({ example: "10.64.3.0/24" }),
    public_endpoint: z.boolean(),
    node_pools: counters,
    nodes: counters,
    upgrade_available: z.boolean(),
    generation: z.int(),
    observed_generation: z.int().openapi({ description: "The generation that status speaks of." }),
    first_ready_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .openapi("Cluster");

export const clusterPage = pageSchema(clusterRecord, "ClusterPage");

export const clusterListQuery = pageQuery.extend({
  status: z.enum(CLUSTER_STATUSES).optional(),
  name: z.string().min(1).max(63).optional().openapi({ description: "The whole name, letter case aside." }),
});

export const createClusterBody = z
  .strictObject({
    name: clusterName,
    k8s_version: z.string().max(16).regex(KUBERNETES_VERSION_PATTERN).openapi({
      description: "MAJOR.MINOR.PATCH, or MAJOR.MINOR for its newest supported patch.",
      example: "1.34",
    }),
    plan: z.enum(PLANS).optional().openapi({
      description: "The package that the cluster is billed as; without one it is billed per resource.",
    }),
    public_endpoint: z.boolean().default(true),
    authorized_cidrs: authorizedCIDRsSchema.optional(),
    node_pools: z.array(createNodePoolBody).max(MAX_NODE_POOLS).optional(),
  })
  .openapi("CreateCluster", {
    example: {
      name: "production",
      k8s_version: "1.34",
      node_pools: [{ name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 3 }],
    },
  });

export type CreateClusterBody = z.output<typeof createClusterBody>;

const fixed = z.unknown().optional().openapi({ description: "Fixed at creation: accepted when equal." });
const observed = z.unknown().optional();

/** A change of a cluster: what is omitted stays. What GET returns may be sent back as it is. */
export const updateClusterBody = z
  .strictObject({
    name: clusterName.optional(),
    k8s_version: z.string().max(16).regex(KUBERNETES_VERSION_PATTERN).optional().openapi({
      description: "Another version than the present one starts an upgrade.",
      example: "1.35",
    }),
    id: fixed,
    org_id: fixed,
    plan: fixed,
    public_endpoint: fixed,
    status: observed,
    status_message: observed,
    conditions: observed,
    current_version: observed,
    apiserver_url: observed,
    worker_subnet: observed,
    node_pools: observed,
    nodes: observed,
    upgrade_available: observed,
    generation: observed,
    observed_generation: observed,
    first_ready_at: observed,
    created_at: observed,
    updated_at: observed,
  })
  .openapi("UpdateCluster");

export type UpdateClusterBody = z.output<typeof updateClusterBody>;

export const networkPolicyRecord = z
  .object({
    cluster_id: z.guid(),
    authorized_cidrs: z
      .array(z.string())
      .openapi({ description: "Empty: connections are accepted from any source." }),
    api_server_rate_limit: z
      .object({ max_connections_per_second: z.int().min(1), burst: z.int().min(1) })
      .optional(),
    updated_at: timestamp,
  })
  .openapi("NetworkPolicy");

/** The wire names of a Cluster's settings, by their path inside `spec`. */
export const CLUSTER_WIRE_NAMES = {
  displayName: "name",
  version: "k8s_version",
  plan: "plan",
  publicEndpoint: "public_endpoint",
  network: "authorized_cidrs",
  "network.authorizedCIDRs": "authorized_cidrs",
} as const;
