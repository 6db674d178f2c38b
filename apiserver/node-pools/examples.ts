/** What the OpenAPI document shows of a create with three nodes. */
export const EXAMPLE_EFFECTS = {
  quota: [{ name: "nodes", limit: 100, used: 9, delta: 3, projected: 12 }],
  nodes_replaced: 0,
  nodes_added: 3,
  nodes_removed: 0,
  warnings: [],
  cost: {
    currency: "EUR",
    monthly_eur_before: 20,
    monthly_eur_after: 59,
    monthly_eur_max: 59,
    resource_types: [
      { resource_type: "control_plane", monthly_eur_before: 20, monthly_eur_after: 20 },
      { resource_type: "vcpu", monthly_eur_before: 0, monthly_eur_after: 39 },
    ],
  },
} as const;

export const exampleNodePool = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  name: "general",
  labels: { team: "web" },
  deletion_protection: false,
  deletion_protection_state: "off",
  expires_at: null,
  vcpus: 2,
  memory_gb: 4,
  disk_gb: 20,
  min_nodes: 3,
  max_nodes: 3,
  desired_nodes: 3,
  autoscaling: false,
  current_nodes: 3,
  ready_nodes: 3,
  k8s_version: "1.34.2",
  generation: 1,
  observed_generation: 1,
  first_ready_at: "2026-11-21T09:01:00.000Z",
  status: "ready",
  status_message: null,
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason: "Available",
      message: "The pool is available.",
      last_transition_time: "2026-11-21T09:01:00.000Z",
    },
  ],
  created_at: "2026-11-21T09:00:00.000Z",
  updated_at: "2026-11-21T09:00:00.000Z",
} as const;

/** A pool that was just accepted, of which nothing is observed yet. */
export const exampleNewNodePool = {
  ...exampleNodePool,
  status: "provisioning",
  conditions: [],
  current_nodes: 0,
  ready_nodes: 0,
  k8s_version: null,
  observed_generation: 0,
  first_ready_at: null,
};
/** What a dry run answers to a create. */
export const exampleNodePoolDryRun = { ...exampleNewNodePool, effects: EXAMPLE_EFFECTS };
export const exampleDeletedNodePool = { ...exampleNodePool, status: "deleting" };
