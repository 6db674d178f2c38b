import type postgres from "postgres";
import type { UsageSizes } from "../../../e2e/bench/billing/programs.ts";

const END = "2026-11-01T00:00:00Z";
const BUDGET_EUR = 300;

/** The id of the n-th organization, from 0. */
function organizationId(sql: postgres.Sql) {
  return sql`(lpad(to_hex(n + 1), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n + 1), 12, '0'))::uuid`;
}

/**
 * Inserts organizations from the number `first` on, directly into the tables: each with a profile, a budget, and clusters with
 * the package `growth`, an address and storage, whose machines are replaced one after another. Returns their ids.
 */
export async function seedUsage(sql: postgres.Sql, first: number, sizes: UsageSizes): Promise<string[]> {
  const numbers = sql`generate_series(${first}::int, ${first + sizes.organizations - 1}::int) as n`;
  const ids = await sql<{ id: string }[]>`select ${organizationId(sql)} as id from ${numbers}`;
  await sql`insert into organizations (id, name, slug, billing_name, country)
    select ${organizationId(sql)}, 'Organization ' || n, 'organization-' || n, 'Organization ' || n || ' Ltd', 'DE'
    from ${numbers}`;
  await sql`insert into budgets (org_id, monthly_limit_eur, thresholds_pct, created_at, updated_at, next_check_at, version)
    select ${organizationId(sql)}, ${BUDGET_EUR}, array[50, 80, 100], now(), now(), ${END}, 1 from ${numbers}`;
  await sql`insert into usage_evidence (id, organization_id, kind, subject, object_uid, sample, observed_at)
    select ${organizationId(sql)}, ${organizationId(sql)}, 'control_plane', '', '', '{}', now() from ${numbers}`;
  await insertClusters(sql, numbers, sizes);
  await insertMachines(sql, numbers, sizes);
  await sql`vacuum analyze`;
  return ids.map(({ id }) => id);
}

type Numbers = postgres.PendingQuery<postgres.Row[]>;

async function insertClusters(
  sql: postgres.Sql,
  numbers: Numbers,
  { clusters, months }: UsageSizes,
): Promise<void> {
  await sql`insert into usage_intervals (id, organization_id, cluster_id, cluster_name, subject, resource_type, quantity,
      started_at, evidence_id)
    select gen_random_uuid(), org_id, cluster_id, 'cluster-' || c, cluster_id, type, quantity,
      ${END}::timestamptz - make_interval(months => ${months}), org_id
    from ${numbers}
    cross join generate_series(1, ${clusters}::int) as c
    cross join lateral (select ${organizationId(sql)} as org_id, md5('cluster ' || n || ' ' || c)::uuid as cluster_id) as ids
    cross join (values ('control_plane', 1), ('plan:growth', 1), ('public_ip', 1), ('storage_block', 100)) as uses (type, quantity)`;
}

/** Inserts three rows for each machine; the last one of successive machines has no end. */
async function insertMachines(sql: postgres.Sql, numbers: Numbers, sizes: UsageSizes): Promise<void> {
  const { clusters, pools, machines, months, replacedAfterDays } = sizes;
  await sql`insert into usage_intervals (id, organization_id, cluster_id, cluster_name, node_pool_id, subject, resource_type,
      quantity, started_at, ended_at, evidence_id)
    select gen_random_uuid(), org_id, cluster_id, 'cluster-' || c, pool_id, md5(pool_id || ' ' || m || ' ' || started_at)::uuid,
      type, quantity, started_at,
      case when started_at + lifetime < ${END}::timestamptz then started_at + lifetime end, org_id
    from ${numbers}
    cross join generate_series(1, ${clusters}::int) as c
    cross join generate_series(1, ${pools}::int) as p
    cross join generate_series(1, ${machines}::int) as m
    cross join lateral (select ${organizationId(sql)} as org_id, md5('cluster ' || n || ' ' || c)::uuid as cluster_id,
      md5('pool ' || n || ' ' || c || ' ' || p)::uuid as pool_id, make_interval(days => ${replacedAfterDays}) as lifetime) as ids
    cross join lateral generate_series(${END}::timestamptz - make_interval(months => ${months}),
      ${END}::timestamptz - interval '1 second', lifetime) as started_at
    cross join (values ('vcpu', 4), ('memory', 8), ('disk', 80)) as uses (type, quantity)`;
}
