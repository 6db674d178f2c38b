import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../platform/node-agent/kinds.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { installForeignDefinitions } from "../testing/infrastructure-provider.ts";
import { createTenant } from "../testing/tenant.ts";
import { type NextVersion, VERSION, writeImage, writeNextVersion } from "./images.ts";
import {
  APISERVER_SECRET,
  DATABASE,
  type PostgresOperator,
  playPostgresOperator,
} from "./postgres-operator.ts";
import { CHART, openRelease, type Release } from "./release.ts";
import { requiredValues, type Values } from "./values.ts";
import { byHelm, byServerSideApply, isJob, listMigrations, type Way } from "./ways.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "install-migration");
const NAMESPACE = "migrated";

const FIRST = "create table story_first (id int)";
const NEXT: NextVersion = { version: "0.2.0", migrations: { first: FIRST } };
const AFTER_NEXT: NextVersion = {
  version: "0.3.0",
  migrations: { first: FIRST, second: "create table story_second (id int)" },
};
const BROKEN: NextVersion = {
  version: "0.4.0",
  migrations: { ...AFTER_NEXT.migrations, broken: "select 1 / 0" },
  // It fails at its deadline, before its Pods have failed often enough.
  deadlineSeconds: 45,
};

let stack: Stack;
let release: Release;
let operator: PostgresOperator;
let values: Values;
const charts = new Map<NextVersion, string>();
const chartOf = (version: NextVersion): string => charts.get(version) ?? "";

beforeAll(async () => {
  stack = await startStack({
    dir: DIR,
    provider: "local",
    fresh: true,
    parts: "prepared",
    onCrash: "report",
  });
  await writeImage(DIR);
  for (const version of [NEXT, AFTER_NEXT, BROKEN])
    charts.set(version, await writeNextVersion(DIR, stack.info.helm, version));
  await installForeignDefinitions(stack.info);
  release = await openRelease(stack.info, NAMESPACE);
  operator = playPostgresOperator(stack.info, NAMESPACE, `marina/marina:${VERSION}`);
  await operator.begin();
  const one = { replicas: 1 };
  values = { ...requiredValues(stack.info), apiserver: one, operator: one };
});
afterAll(() => stack?.stop());

async function withDatabase<T>(use: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}

/** The tables of the versions after this one. */
async function listStoryTables(): Promise<string[]> {
  const rows = await withDatabase(
    (sql) => sql<{ name: string }[]>`
      select tablename as name from pg_tables where tablename like 'story\\_%' order by tablename`,
  );
  return rows.map(({ name }) => name);
}

interface ApiserverPod {
  image: string;
  ready: boolean;
}

async function listApiservers(): Promise<ApiserverPod[]> {
  const selector = "--selector=app.kubernetes.io/component=apiserver";
  const { items } = JSON.parse(await release.kubectl(["get", "pods", selector, "--output=json"]));
  return (items as Pod[]).map(({ spec, status }) => ({
    image: spec.containers[0]?.image.split(":").at(-1) ?? "",
    ready: status?.containerStatuses?.[0]?.ready ?? false,
  }));
}

/** The API's answer to a request that reads the database. */
async function ask(): Promise<number> {
  const tenant = createTenant(await release.findApiUrl(), stack.info.tokens.alice);
  return (await tenant.request("GET", "/me")).status;
}

/** The API serves, by Pods of this version alone, and its migration is the only Job that is left. */
async function expectServed(version: string): Promise<void> {
  await waitFor(`the version ${version} alone`, async () => {
    const pods = await listApiservers();
    return pods.length === 1 && pods[0]?.image === version && pods[0].ready;
  });
  await waitFor("the API", async () => (await ask()) === 200);
  await waitFor("its migration to be done, alone", async () => {
    const jobs = await listMigrations(release);
    return jobs.length === 1 && jobs.every((job) => isJob(job, "Complete"));
  });
}

interface DatabaseObject {
  kind: string;
  metadata: { name: string; uid: string; resourceVersion: string };
  spec?: object;
  data?: object;
}

/** The database of CloudNativePG, and the Secrets with its passwords and its authority. */
async function readDatabase(): Promise<{ cluster: DatabaseObject; secrets: DatabaseObject[] }> {
  const secretNames = [APISERVER_SECRET, `${DATABASE}-app`, `${DATABASE}-ca`].map((name) => `secret/${name}`);
  const names = [`cluster.postgresql.cnpg.io/${DATABASE}`, ...secretNames];
  const [cluster, ...secrets] = JSON.parse(await release.kubectl(["get", ...names, "--output=json"])).items;
  return { cluster, secrets };
}

/** Keeps every migration from going on until what `during` does has ended. */
async function whileLocked(during: () => Promise<void>): Promise<void> {
  await withDatabase(async (sql) => {
    await sql`select pg_advisory_lock(hashtextextended('marina:migrate', 0))`;
    await during();
  });
}

async function empty(): Promise<void> {
  await waitFor("the Pods to be gone", async () => (await listApiservers()).length === 0);
  await withDatabase(async (sql) => {
    await sql`drop schema public cascade`;
    await sql`drop schema drizzle cascade`;
    await sql`create schema public`;
    await sql`grant usage on schema public to public`;
  });
}

type Open = (release: Release, values: Values) => Way;
const openHelm: Open = byHelm;
const openApply: Open = (...args) => byServerSideApply(stack.info, ...args);

describe.each([
  ["helm", openHelm],
  ["server-side apply of helm template", openApply],
])("by %s", (_, open) => {
  describe("with a database of CloudNativePG", () => {
    const INSTANCES_OF_UPGRADE = 5;
    let way: Way;
    let upgradedWay: Way;
    let installed: Awaited<ReturnType<typeof readDatabase>>;
    beforeAll(() => {
      const cloudNativePG = { enabled: true, apiserverSecret: APISERVER_SECRET };
      way = open(release, { ...values, database: { cloudNativePG } });
      const larger = { ...cloudNativePG, instances: INSTANCES_OF_UPGRADE };
      upgradedWay = open(release, { ...values, database: { cloudNativePG: larger } });
    });
    afterAll(() => empty());

    test("an installation waits for its database, and an upgrade has its migration", async () => {
      await way.begin(CHART);
      await operator.finish();
      await way.deploy(CHART);
      await expectServed(VERSION);
      installed = await readDatabase();
      await upgradedWay.deploy(chartOf(NEXT));
      await expectServed(NEXT.version);
      expect(await listStoryTables()).toEqual(["story_first"]);
    });

    test("an upgrade and a rollback keep the database and its passwords, and change of it what the values change", async () => {
      const { cluster, secrets } = installed;
      const upgraded = await readDatabase();
      expect(upgraded.cluster.spec).toEqual({ ...cluster.spec, instances: INSTANCES_OF_UPGRADE });
      await way.rollback(CHART);
      await expectServed(VERSION);
      const rolledBack = await readDatabase();
      expect(rolledBack.cluster.spec).toEqual(cluster.spec);
      for (const now of [upgraded, rolledBack]) {
        expect(now.cluster.metadata.uid).toBe(cluster.metadata.uid);
        expect(now.secrets).toEqual(secrets);
      }
    });

    test("a removal of the release keeps them too", async () => {
      await way.remove();
      const { cluster, secrets } = await readDatabase();
      expect([cluster.metadata.uid, cluster.spec]).toEqual([
        installed.cluster.metadata.uid,
        installed.cluster.spec,
      ]);
      expect(secrets).toEqual(installed.secrets);
    });
  });

  describe("with a database of others", () => {
    let way: Way;
    beforeAll(() => {
      way = open(release, values);
    });
    afterAll(async () => {
      await way.remove();
      await empty();
    });

    test("an installation into an empty database is ready after its migration", async () => {
      await way.deploy(CHART);
      await expectServed(VERSION);
    });

    test("of two upgrades in a row the last one comes, and the programs of before serve until the schema is there", async () => {
      let upgraded: Promise<void> | undefined;
      await whileLocked(async () => {
        await way.begin(chartOf(NEXT));
        await waitFor("its API server to wait", async () =>
          (await listApiservers()).some(({ image, ready }) => image === NEXT.version && !ready),
        );
        upgraded = way.deploy(chartOf(AFTER_NEXT));
        upgraded.catch(() => undefined);
        await waitFor("the API server of the second to wait", async () =>
          (await listApiservers()).some(({ image, ready }) => image === AFTER_NEXT.version && !ready),
        );
        expect((await listApiservers()).filter(({ ready }) => ready)).toEqual([
          { image: VERSION, ready: true },
        ]);
        expect(await ask()).toBe(200);
      });
      await upgraded;
      await expectServed(AFTER_NEXT.version);
      expect(await listStoryTables()).toEqual(["story_first", "story_second"]);
    });

    test("a migration that fails is seen, and the programs of before serve on", async () => {
      await expect(way.deploy(chartOf(BROKEN), 70)).rejects.toThrow(/marina-migrate-\w+/);
      const [job] = await listMigrations(release);
      expect(job && isJob(job, "Failed")).toBe(true);
      expect((await listApiservers()).filter(({ ready }) => ready)).toEqual([
        { image: AFTER_NEXT.version, ready: true },
      ]);
      expect(await ask()).toBe(200);
    });

    test("a rollback serves with the schema of the later version", async () => {
      await way.rollback(chartOf(AFTER_NEXT));
      await expectServed(AFTER_NEXT.version);
      await way.deploy(chartOf(NEXT));
      await expectServed(NEXT.version);
      expect(await listStoryTables()).toEqual(["story_first", "story_second"]);
    });
  });
});
