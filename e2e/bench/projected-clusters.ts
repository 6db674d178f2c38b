import type postgres from "postgres";

export const CLUSTERS = 10_000;
const NODE_POOLS = 60;

const SINCE = "2026-11-21T09:00:00Z";
const CONDITIONS = ["Ready", "ControlPlaneReady", "InfrastructureReady", "WorkersReady"].map((type) => ({
  type,
  status: "True",
  reason: "Available",
  message: "",
  lastTransitionTime: SINCE,
}));

/** The id of the n-th cluster that is seeded, from 0; wraps around. */
export function clusterId(n: number): string {
  return `0000aaaa-0000-7000-8000-${String(n % CLUSTERS).padStart(12, "0")}`;
}

/**
 * Inserts 10,000 clusters of one organization with 32 labels each, the first with 60 node pools, directly into the projection. They are
 * served until the next start of the projection, which compares it with the Kubernetes API.
 */
export async function seedClusters(sql: postgres.Sql, orgId: string): Promise<void> {
  await sql`INSERT INTO projected_clusters
      (uid, id, org_id, namespace, name, display_name, status, resource_version, updated_at, network_updated_at, object)
    SELECT id, id, ${orgId}, 'bench', 'c-' || n, 'cluster-' || n, 'running', 4711, now(), now(),
           ${sql.json(CLUSTER)}::jsonb || jsonb_build_object('metadata', ${sql.json(METADATA)}::jsonb
             || jsonb_build_object('name', 'c-' || n, 'uid', id), 'spec', ${sql.json(CLUSTER.spec)}::jsonb
             || jsonb_build_object('labels', jsonb_build_object('team', 't' || n % 100, 'number', n::text,
               'stage', (ARRAY['test', 'production', 'staging'])[1 + n % 3])
               || (SELECT jsonb_object_agg('l' || m, (10000 + m)::text) FROM generate_series(1, 29) AS m)))
      FROM generate_series(0, ${CLUSTERS - 1}) AS n,
           LATERAL (SELECT ('0000aaaa-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid AS id) AS ids`;
  await sql`INSERT INTO projected_node_pools
      (uid, id, org_id, cluster_id, namespace, name, display_name, status, resource_version, updated_at, quota_nodes,
       quota_vcpus, quota_memory_gb, object)
    SELECT id, id, ${orgId}, ${clusterId(0)}, 'bench', 'p-' || n, 'pool-' || n, 'running', 4711, now(), 3, 6, 12,
           ${sql.json(NODE_POOL)}::jsonb || jsonb_build_object('metadata', ${sql.json(METADATA)}::jsonb
             || jsonb_build_object('name', 'p-' || n, 'uid', id))
      FROM generate_series(1, ${NODE_POOLS}) AS n,
           LATERAL (SELECT ('0000bbbb-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid AS id) AS ids`;
  await sql`ANALYZE`;
}

const METADATA = {
  namespace: "bench",
  generation: 3,
  resourceVersion: "4711",
  creationTimestamp: SINCE,
};

const CLUSTER = {
  apiVersion: "marina.dev/v1alpha1",
  kind: "Cluster",
  spec: { displayName: "cluster", version: "v1.34.2", publicEndpoint: true },
  status: {
    observedGeneration: 3,
    version: "v1.34.2",
    apiServerURL: "https://192.0.2.1:6443",
    workerSubnet: "10.1.0.0/24",
    firstReadyAt: SINCE,
    nodes: { total: 3, ready: 3 },
    nodePools: { total: 1, ready: 1 },
    conditions: CONDITIONS,
  },
};

const NODE_POOL = {
  apiVersion: "marina.dev/v1alpha1",
  kind: "NodePool",
  spec: {
    clusterRef: { name: "c-0" },
    displayName: "pool",
    vcpus: 2,
    memoryGB: 4,
    diskGB: 20,
    minNodes: 1,
    maxNodes: 5,
    desiredNodes: 3,
    nodeLabels: { "example.com/tier": "web" },
    drainTimeoutSeconds: 300,
  },
  status: { observedGeneration: 3, nodes: 3, firstReadyAt: SINCE, conditions: CONDITIONS.slice(0, 1) },
};
