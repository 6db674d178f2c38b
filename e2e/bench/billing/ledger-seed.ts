import type postgres from "postgres";

export const CLUSTERS = 10_000;
export const POOLS = 20_000;
export const MACHINES_PER_POOL = 3;

const ORGANIZATIONS = 1000;
const MACHINE = {
  node: "node",
  phase: "Running",
  ready: true,
  version: "1.34.2",
  vcpus: 4,
  memoryGB: 8,
  diskGB: 80,
};
const CREATED_AT = "2026-11-21T09:00:00Z";

/**
 * Inserts 10,000 clusters that are ready with an address and reported usage, each with two pools of three machines,
 * directly into the projection. They stay until the next start of the projection, which compares it with Kubernetes.
 */
export async function seedFleet(sql: postgres.Sql): Promise<void> {
  const status = {
    firstReadyAt: CREATED_AT,
    publicAddress: "192.0.2.1",
    usage: { blockStorageGB: 100, loadBalancers: 2, snapshotGB: 10 },
  };
  const cluster = { spec: { version: "1.34.2", plan: "growth" }, status };
  await sql`insert into projected_clusters
      (uid, id, org_id, namespace, name, display_name, status, resource_version, updated_at, network_updated_at, object)
    select id, id, org_id, 'bench', 'c-' || n, 'cluster-' || n, 'running', 1, now(), now(), ${sql.json(cluster)}
      from generate_series(0, ${CLUSTERS - 1}) as n, lateral (select
        ('0000aaaa-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid as id,
        ('0000cccc-0000-7000-8000-' || lpad((n % ${ORGANIZATIONS})::text, 12, '0'))::uuid as org_id) as ids`;
  await sql`insert into projected_node_pools
      (uid, id, org_id, cluster_id, namespace, name, display_name, status, resource_version, updated_at, quota_nodes,
       quota_vcpus, quota_memory_gb, object)
    select ('0000bbbb-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
        ('0000bbbb-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, org_id, id, 'bench', 'p-' || n, 'pool-' || n,
        'running', 1, now(), 3, 12, 24, jsonb_build_object('spec', ${sql.json({ vcpus: 4, memoryGB: 8, diskGB: 80, desiredNodes: 3 })}::jsonb,
          'status', jsonb_build_object('machines', (
            select jsonb_agg(${sql.json(MACHINE)}::jsonb || jsonb_build_object('uid', gen_random_uuid(), 'name', 'm-' || n || '-' || m,
              'createdAt', ${CREATED_AT}::text))
            from generate_series(1, ${MACHINES_PER_POOL}) as m)))
      from generate_series(0, ${POOLS - 1}) as n, lateral (select
        ('0000aaaa-0000-7000-8000-' || lpad((n / 2)::text, 12, '0'))::uuid as id,
        ('0000cccc-0000-7000-8000-' || lpad((n / 2 % ${ORGANIZATIONS})::text, 12, '0'))::uuid as org_id) as ids`;
  await sql`analyze`;
}

/**
 * One machine of each of these pools is replaced: the pool's status lists the new one, and the old one under
 * `goneMachines`.
 */
export async function replaceMachines(sql: postgres.Sql, from: number, count: number): Promise<void> {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  await sql`update projected_node_pools set resource_version = resource_version + 1, object = jsonb_set(jsonb_set(object,
      '{status,goneMachines}', coalesce(object -> 'status' -> 'goneMachines', '[]') || jsonb_build_object(
        'uid', object #> '{status,machines,0,uid}', 'createdAt', object #> '{status,machines,0,createdAt}',
        'goneAt', ${now}::text, 'hadNode', true, 'vcpus', 4, 'memoryGB', 8, 'diskGB', 80)),
      '{status,machines,0}', object #> '{status,machines,0}' || jsonb_build_object('uid', gen_random_uuid(), 'createdAt', ${now}::text))
    where name in (select 'p-' || n from generate_series(${from}::int, ${from + count - 1}::int) as n)`;
}
