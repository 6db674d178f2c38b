import { sql } from "drizzle-orm";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { TestApp } from "../testing/app.ts";

export const POOL = {
  name: "general",
  vcpus: 2,
  memory_gb: 4,
  disk_gb: 20,
  desired_nodes: 2,
  min_nodes: 0,
  max_nodes: 9,
};
/** Its plan does not exist in the stack, so that no machine is created for it. */
export const BODY = { name: "First", k8s_version: "1.34.2", plan: "scale" };

/** A cluster with one pool of 2 nodes: ids, and paths of the REST API. */
export interface DryRunFixture {
  orgId: string;
  clusterId: string;
  poolId: string;
  clusters: string;
  cluster: string;
  pool: string;
}

/** Creates it in a new organization. */
export async function createDryRunFixture(api: TestApp): Promise<DryRunFixture> {
  const orgId = await api.createOrganization();
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const created = await api.request("POST", clusters, { body: { ...BODY, node_pools: [POOL] } });
  const clusterId = created.body.id;
  const cluster = `${clusters}/${clusterId}`;
  const pools = await api.request("GET", `${cluster}/nodepools`);
  const poolId = pools.body.items[0].id;
  return { orgId, clusterId, poolId, clusters, cluster, pool: `${cluster}/nodepools/${poolId}` };
}

const TABLES = [
  "audit_log",
  "idempotency_keys",
  "write_intents",
  "projected_clusters",
  "projected_node_pools",
  "cluster_records",
  "node_pool_records",
  "transitions",
  "system_events",
];

/** Everything that a request could change: the number of rows of every table, and every specification. */
export async function readTraces(api: TestApp, orgId: string): Promise<unknown> {
  const counts = TABLES.map(
    (name) => sql`select ${name} as name, count(*)::int as rows from ${sql.identifier(name)}`,
  );
  const rows = await api.deps.db.execute(sql.join(counts, sql` union all `));
  const namespace = `org-${orgId}`;
  const objects = [
    ...(await api.deps.kube.listAll(clusterKind, { namespace })),
    ...(await api.deps.kube.listAll(nodePoolKind, { namespace })),
  ];
  return {
    rows: [...rows],
    objects: objects.map(({ metadata, spec }) => ({
      uid: metadata.uid,
      generation: metadata.generation,
      deleting: metadata.deletionTimestamp,
      spec,
    })),
  };
}
