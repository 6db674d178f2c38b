import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { describeDatabaseError } from "./errors.ts";
import { migrate } from "./migrate.ts";
import { countLockWaits } from "./testing.ts";
import { type DatabaseBefore, openDatabaseBefore } from "./testing-earlier-version.ts";

const ORGANIZATION = "01930000-0000-7000-8000-000000000001";
const SHARED_ID = "01930000-0000-7000-8000-000000000002";
const LOCK_ORGANIZATION = `select from organizations where id = '${ORGANIZATION}' for no key update`;

/** An attempt of the migration waits for a moment alone. */
const OFTEN = { intervalMs: 20 };

let before: DatabaseBefore;
beforeEach(async () => {
  before = await openDatabaseBefore();
  await before.owner`insert into organizations (id, name, slug) values (${ORGANIZATION}, 'Acme', 'acme')`;
});
afterEach(() => before.close());

async function expectUnchanged(): Promise<void> {
  expect(await before.owner`select from pg_tables where tablename = 'object_records'`).toHaveLength(0);
  expect(await before.owner`select from pg_tables where tablename = 'cluster_records'`).toHaveLength(1);
}

test.each([
  ["an organization", LOCK_ORGANIZATION],
  ["a table without its organization", "select from cluster_records"],
])(
  "a migration ends and changes nothing when a program of the version before has %s in use for long",
  async (_, statement) => {
    const { url, program } = before;
    await program.begin(async (tx) => {
      await tx.unsafe(statement);
      const error: unknown = await migrate(url).catch((reason: unknown) => reason);
      expect(describeDatabaseError(error)?.code).toBe("55P03");
    });
    await expectUnchanged();
  },
);

/** Starts the migration; it has ended when the test has. */
function startMigration(): Promise<unknown> {
  const migrated = migrate(before.url);
  onTestFinished(async () => {
    await migrated.catch(() => undefined);
  });
  return migrated;
}

test("a migration waits for a program that has locked its organization, which then writes what it has to", async () => {
  const { owner, program } = before;
  let migrated: Promise<unknown> = Promise.resolve();
  await program.begin(async (tx) => {
    await tx.unsafe(LOCK_ORGANIZATION);
    migrated = startMigration();
    await waitFor("the migration to wait", async () => (await countLockWaits(owner)) > 0, OFTEN);
    await tx`insert into billing_profiles (org_id, name) values (${ORGANIZATION}, 'Acme Ltd')`;
    await tx`insert into organization_quotas (org_id, clusters) values (${ORGANIZATION}, 5)`;
  });
  expect(await migrated).toBe("migrated");
  expect(await owner`select quota_clusters, billing_name from organizations`).toEqual([
    { quota_clusters: 5, billing_name: "Acme Ltd" },
  ]);
});

test("a migration tries again while a program has a table in use, which then gets its organization", async () => {
  const { owner, program } = before;
  let migrated: Promise<unknown> = Promise.resolve();
  await program.begin(async (tx) => {
    await tx`select from cluster_records`;
    migrated = startMigration();
    await waitFor("the migration to wait", async () => (await countLockWaits(owner)) > 0, OFTEN);
    await tx.unsafe(LOCK_ORGANIZATION);
  });
  expect(await migrated).toBe("migrated");
});

test("a migration says which ids clusters and node pools have in common, and drops no record", async () => {
  const { owner, url } = before;
  const columns = "id, org_id, namespace, object_name, name, name_key, created_at";
  const values = `'${SHARED_ID}', '${ORGANIZATION}', 'org', 'x', 'X', 'x', now()`;
  await owner.unsafe(`insert into cluster_records (${columns}) values (${values})`);
  await owner.unsafe(
    `insert into node_pool_records (${columns}, cluster_id) values (${values}, '${ORGANIZATION}')`,
  );
  const error: unknown = await migrate(url).catch((reason: unknown) => reason);
  expect(describeDatabaseError(error)?.message).toBe(
    `cluster_records and node_pool_records both have these ids; remove one of the two rows of each: ${SHARED_ID}`,
  );
  await expectUnchanged();
});
