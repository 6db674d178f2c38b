import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate } from "./migrate.ts";
import { type DatabaseBefore, openDatabaseBefore } from "./testing-earlier-version.ts";

const BOTH = "01930000-0000-7000-8000-000000000001";
const PROFILE_ONLY = "01930000-0000-7000-8000-000000000002";
const OTHER_ONLY = "01930000-0000-7000-8000-000000000003";
const WRITING = "01930000-0000-7000-8000-000000000004";
const USER = "01930000-0000-7000-8000-000000000005";
const CLUSTER = "01930000-0000-7000-8000-000000000006";
const POOL = "01930000-0000-7000-8000-000000000007";
const INVOICE = "01930000-0000-7000-8000-000000000008";
const AT = new Date("2026-01-02T03:04:05.678Z");
const DAYS = [{ day: 1, cents: "5" }];

const insertInvoice = (
  id: string,
) => `insert into invoices (id, org_id, period, number, year, sequence, issued_at,
    amount_cents, vat_case, vat_basis_points, vat_cents, supplier, buyer)
  values ('${id}', '${BOTH}', '2026-01-01', '${id}', 2026, ${Number(id.slice(-2))}, now(), 1, 'domestic', 0, 0, '{}', '{}')`;

describe("after the migration", () => {
  let before: DatabaseBefore;
  beforeAll(async () => {
    before = await openDatabaseBefore();
    const { owner, url } = before;
    for (const id of [BOTH, PROFILE_ONLY, OTHER_ONLY, WRITING])
      await owner`insert into organizations (id, name, slug) values (${id}, 'Acme', ${`acme-${id.slice(-1)}`})`;
    await owner`insert into users (id, issuer) values (${USER}, 'https://issuer.example')`;
    await owner`insert into organization_quotas (org_id, clusters, version, updated_at, storage_gb, storage_version)
      values (${BOTH}, 5, 3, ${AT}, 50, 8), (${OTHER_ONLY}, 6, 4, ${AT}, null, 0)`;
    await owner`insert into billing_profiles (org_id, name, street, postal_code, city, country, tax_number,
        buyer_reference, purchase_order)
      values (${BOTH}, 'Acme Ltd', 'Way 1', '10115', 'Berlin', 'DE', '12', 'ref', 'po'), (${PROFILE_ONLY}, 'Other', null,
        null, null, null, null, null, null)`;
    await owner`insert into user_quotas (user_id, organizations, version, updated_at) values (${USER}, 9, 2, ${AT})`;
    await owner`insert into cluster_records (id, org_id, namespace, object_name, name, name_key, created_at, deleted_at)
      values (${CLUSTER}, ${BOTH}, 'org', 'c', 'Shop', 'shop', ${AT}, ${AT})`;
    await owner`insert into node_pool_records (id, org_id, namespace, object_name, name, name_key, created_at, cluster_id)
      values (${POOL}, ${BOTH}, 'org', 'p', 'Web', 'web', ${AT}, ${CLUSTER})`;
    await owner.unsafe(insertInvoice(INVOICE));
    await owner`insert into invoice_daily_costs (invoice_id, days) values (${INVOICE}, ${owner.json(DAYS)})`;
    await migrate(url);
  });
  afterAll(() => before.close());

  const inOrder = [BOTH, PROFILE_ONLY, OTHER_ONLY];
  const recorded = { org_id: BOTH, namespace: "org", created_at: AT };
  test.each<[what: string, statement: string, rows: object[]]>([
    [
      "the quotas of each organization",
      `select id, quota_clusters as clusters, quota_version as version, quotas_updated_at as at, storage_quota_gb as storage,
          storage_quota_version as storage_version
        from organizations where id <> '${WRITING}' order by id`,
      [
        { id: BOTH, clusters: 5, version: 3, at: AT, storage: 50, storage_version: 8 },
        { id: PROFILE_ONLY, clusters: null, version: 0, at: null, storage: null, storage_version: 0 },
        { id: OTHER_ONLY, clusters: 6, version: 4, at: AT, storage: null, storage_version: 0 },
      ],
    ],
    [
      "whom invoices are for",
      `select concat_ws(' ', billing_name, street, postal_code, city, country, tax_number, buyer_reference, purchase_order) as of
        from organizations where id <> '${WRITING}' order by id`,
      ["Acme Ltd Way 1 10115 Berlin DE 12 ref po", "Other", ""].map((of) => ({ of })),
    ],
    [
      "the names of organizations",
      `select id, name from organizations where id <> '${WRITING}' order by id`,
      inOrder.map((id) => ({ id, name: "Acme" })),
    ],
    [
      "the quotas of users",
      "select organization_quota as organizations, quota_version as version, quota_updated_at as at from users",
      [{ organizations: 9, version: 2, at: AT }],
    ],
    [
      "the records of objects",
      "select * from object_records order by id",
      [
        {
          ...recorded,
          id: CLUSTER,
          object_name: "c",
          name: "Shop",
          name_key: "shop",
          deleted_at: AT,
          cluster_id: null,
        },
        {
          ...recorded,
          id: POOL,
          object_name: "p",
          name: "Web",
          name_key: "web",
          deleted_at: null,
          cluster_id: CLUSTER,
        },
      ],
    ],
    [
      "what the days of a month cost",
      "select id, daily_costs from invoices",
      [{ id: INVOICE, daily_costs: DAYS }],
    ],
  ])("%s are what they were", async (_, statement, rows) => {
    expect(await before.owner.unsafe(statement)).toEqual(rows);
  });

  const written = (last: number) => `01930000-0000-7000-8000-0000000000${last}`;
  const columns = "id, org_id, namespace, object_name, name, name_key, created_at, deleted_at";
  const recordedAs = (id: string, more = "") =>
    `values ('${id}', '${WRITING}', 'org', 'x', 'X', 'x', now(), default${more})
      on conflict (id) do update set name = excluded.name || '!', deleted_at = null`;
  /** What the programs of the version before execute, by the table that they know. */
  const WRITES: [table: string, statements: string[], read: string, result: object][] = [
    [
      "organization_quotas",
      [
        `insert into organization_quotas (org_id, clusters, node_pools, nodes, vcpus, memory_gb, version, updated_at,
            storage_gb, storage_version, storage_updated_at)
          values ('${WRITING}', 7, null, null, null, null, 1, now(), default, default, default)
          on conflict (org_id) do update set clusters = 8, version = organization_quotas.version + 1, updated_at = now()`,
      ],
      `select name, quota_clusters, quota_version, storage_quota_version, slug from organizations where id = '${WRITING}'`,
      { name: "Acme", slug: "acme-4", quota_clusters: 8, quota_version: 1, storage_quota_version: 0 },
    ],
    [
      "billing_profiles",
      [
        `insert into billing_profiles (org_id, name, country, updated_at) values ('${WRITING}', 'New Ltd', 'DE', now())
          on conflict (org_id) do update set name = 'New Ltd', country = 'DE', updated_at = now()`,
      ],
      `select name, slug, billing_name, country from organizations where id = '${WRITING}'`,
      { name: "Acme", slug: "acme-4", billing_name: "New Ltd", country: "DE" },
    ],
    [
      "user_quotas",
      [
        `insert into user_quotas (user_id, organizations, version, updated_at) values ('${USER}', 3, 3, now())
          on conflict (user_id) do update set organizations = 3, version = 3, updated_at = now()`,
      ],
      "select issuer, organization_quota, quota_version from users",
      { issuer: "https://issuer.example", organization_quota: 3, quota_version: 3 },
    ],
    [
      "cluster_records",
      [1, 2].map(
        () =>
          `insert into cluster_records (${columns}) ${recordedAs(written(11))}
            where (cluster_records.org_id, cluster_records.namespace, cluster_records.object_name)
              = (excluded.org_id, excluded.namespace, excluded.object_name) returning id, xmax = 0 as is_new`,
      ),
      `select name, cluster_id from object_records where id = '${written(11)}'`,
      { name: "X!", cluster_id: null },
    ],
    [
      "node_pool_records",
      [
        `insert into node_pool_records (${columns}, cluster_id) ${recordedAs(written(12), `, '${CLUSTER}'`)}
          returning id, xmax = 0 as is_new`,
        `update node_pool_records set deleted_at = now() where deleted_at is null and id = '${written(12)}' returning id`,
      ],
      `select name, cluster_id, deleted_at is null as lives from object_records where id = '${written(12)}'`,
      { name: "X", cluster_id: CLUSTER, lives: false },
    ],
    [
      "invoice_daily_costs",
      [
        insertInvoice(written(13)).replace("2026-01-01", "2026-02-01"),
        `insert into invoice_daily_costs (invoice_id, days) values ('${written(13)}', '[1]')`,
      ],
      `select daily_costs from invoices where id = '${written(13)}'`,
      { daily_costs: [1] },
    ],
    [
      "projected_clusters",
      ["'{}'", '\'{"spec": {"labels": {"team": "web"}}}\''].map(
        (
          object,
        ) => `insert into projected_clusters (uid, id, org_id, namespace, name, display_name, status, resource_version,
            updated_at, network_updated_at, object)
          values ('${CLUSTER}', '${CLUSTER}', '${BOTH}', 'org', 'c', 'Shop', 'running', 1, now(), now(), ${object})
          on conflict (uid) do update set object = excluded.object`,
      ),
      "select labels from projected_clusters",
      { labels: { team: "web" } },
    ],
  ];

  test.each(WRITES)(
    "programs of the version before write %s by their own role, and those of this one see it",
    async (_table, statements, read, result) => {
      for (const statement of statements) await before.program.unsafe(statement);
      expect(await before.owner.unsafe(read)).toEqual([result]);
    },
  );

  test("programs of the version before know whether they have recorded an object", async () => {
    const insert = `insert into cluster_records (${columns}) ${recordedAs(written(14))} returning xmax = 0 as is_new`;
    expect(await before.program.unsafe(insert)).toEqual([{ is_new: true }]);
    expect(await before.program.unsafe(insert)).toEqual([{ is_new: false }]);
  });

  test("a temporary table of the API server's role is not what the owner of the schema writes to", async () => {
    const id = written(15);
    await before.owner.unsafe(insertInvoice(id).replace("2026-01-01", "2026-03-01"));
    await before.program.begin(async (tx) => {
      await tx`create temporary table invoices on commit drop as select ${id}::uuid as id, null::jsonb as daily_costs`;
      await tx`grant select, update on pg_temp.invoices to public`;
      await tx`insert into invoice_daily_costs (invoice_id, days) values (${id}, '[1]')`;
      expect(await tx`select daily_costs from pg_temp.invoices`).toEqual([{ daily_costs: null }]);
    });
    expect(await before.owner`select daily_costs from invoices where id = ${id}`).toEqual([
      { daily_costs: [1] },
    ]);
  });

  test("no program changes an invoice by what its days cost", async () => {
    await before.program`insert into invoice_daily_costs (invoice_id, days) values (${INVOICE}, '[2]')`;
    expect(await before.owner`select daily_costs from invoices where id = ${INVOICE}`).toEqual([
      { daily_costs: DAYS },
    ]);
    for (const statement of [
      "update invoice_daily_costs set days = '[2]'",
      "delete from invoice_daily_costs",
    ])
      await expect(before.program.unsafe(statement)).rejects.toMatchObject({ code: "55000" });
  });
});
