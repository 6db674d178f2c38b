import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanEnvironment } from "../../e2e/platform/programs/environment.ts";
import { readPartEnvironment } from "../../e2e/platform/stack/part-environment.ts";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createTestDatabase, type TestDatabase } from "./testing.ts";

const PROGRAM = join(import.meta.dirname, "migrate.ts");
/** How much of the log Kubernetes copies into the termination message of a container. */
const TERMINATION_MESSAGE_BYTES = 2048;

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase(readStack().databaseUrl);
});
afterEach(() => database.drop());

/** The owner's address of the test database with some parts replaced. */
function address(change: Partial<Pick<URL, "host" | "pathname" | "username" | "password">>): string {
  return Object.assign(new URL(database.url), change).href;
}

/** Runs the program as its Job does, and returns its exit code and output. */
function runMigration(environment: Record<string, string>) {
  const { status, stderr, stdout } = spawnSync(process.execPath, [PROGRAM], {
    env: cleanEnvironment(environment),
    encoding: "utf8",
    timeout: 600_000,
  });
  return { status, stderr, stdout };
}

/** Removes every table, so that the next migration begins at the first one. */
async function empty(): Promise<void> {
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  await sql`drop schema public cascade`;
  await sql`drop schema drizzle cascade`;
  await sql`create schema public`;
  await sql.end();
}

const apiserver = () => new URL(readPartEnvironment("apiserver").MARINA_DATABASE_URL ?? "");

test.each<[string, () => Record<string, string>, RegExp]>([
  ["no address", () => ({}), /^MARINA_DATABASE_URL must be the address of a Postgres database\.\n$/],
  [
    "an address at which no server listens",
    () => ({ MARINA_DATABASE_URL: address({ host: "127.0.0.1:1" }) }),
    /^Postgres at 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\): check the address in MARINA_DATABASE_URL and that the network lets this program connect\.\n$/,
  ],
  [
    "a wrong password",
    () => ({ MARINA_DATABASE_URL: address({ password: "another-secret" }) }),
    /^Postgres refused the role "\S+": check the role and its password in MARINA_DATABASE_URL\.\n$/,
  ],
  [
    "a database that does not exist",
    () => ({ MARINA_DATABASE_URL: address({ pathname: "/absent" }) }),
    /^Postgres has no database "absent": create it, or correct its name in MARINA_DATABASE_URL\.\n$/,
  ],
  [
    "a role of the API server that does not exist",
    () => ({ MARINA_DATABASE_URL: database.url, MARINA_DATABASE_APISERVER_ROLE: "absent" }),
    /^Postgres has no role "absent": create it, or correct MARINA_DATABASE_APISERVER_ROLE\.\n$/,
  ],
  [
    "the owner as the API server's role",
    () => ({
      MARINA_DATABASE_URL: database.url,
      MARINA_DATABASE_APISERVER_ROLE: new URL(database.url).username,
    }),
    /^The role \S+ owns the schema, so no right can be withheld from it: .+\n$/,
  ],
])("a migration with %s ends with one sentence that says what to do", (_case, environment, expected) => {
  const { status, stderr } = runMigration(environment());
  expect(stderr).toMatch(expected);
  expect(stderr).not.toContain("another-secret");
  expect(Buffer.byteLength(stderr)).toBeLessThan(TERMINATION_MESSAGE_BYTES);
  expect(status).toBe(1);
});

/** The address with a TLS mode, as another host of the same server. */
function addressWith(sslmode: string, hostname = "localhost"): string {
  return Object.assign(new URL(database.url), { hostname, search: `?sslmode=${sslmode}` }).href;
}

const CA = () => join(dirname(readStack().kubeconfig), "certificates", "ca.crt");

test("a migration connects with TLS, and verifies the server with the authority that it is given", async () => {
  const verified = { MARINA_DATABASE_URL: addressWith("verify-full"), NODE_EXTRA_CA_CERTS: CA() };
  expect(runMigration(verified)).toMatchObject({ status: 0, stderr: "" });
  expect(runMigration({ MARINA_DATABASE_URL: addressWith("require") })).toMatchObject({
    status: 0,
    stderr: "",
  });
});

test("a server whose certificate is not trusted gets no password, and what to do is one sentence", async () => {
  const { status, stderr } = runMigration({ MARINA_DATABASE_URL: addressWith("verify-full") });
  expect(stderr).toMatch(
    /^The certificate of Postgres at localhost:\d+ is not accepted \([A-Z_]+\): its authority must be in the file of NODE_EXTRA_CA_CERTS .+\.\n$/,
  );
  expect(status).toBe(1);
});

test("a migration by a role without rights makes no table, and says which right is missing", async () => {
  await empty();
  const { username, password } = apiserver();
  const { status, stderr } = runMigration({ MARINA_DATABASE_URL: address({ username, password }) });
  expect(stderr).toBe(
    `The role "${username}" may not change the database "${new URL(database.url).pathname.slice(1)}": ` +
      "MARINA_DATABASE_URL must name the role that owns it.\n",
  );
  expect(status).toBe(1);
  const sql = postgres(database.url, { max: 1 });
  expect(
    await sql`select 1 from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  ).toHaveLength(0);
  await sql.end();
});

test("a migration that was changed after it ran is reported in one sentence", async () => {
  const sql = postgres(database.url, { max: 1 });
  await sql`update drizzle.__drizzle_migrations set hash = 'other' where id = 1`;
  await sql.end();
  const { status, stderr } = runMigration({ MARINA_DATABASE_URL: database.url });
  expect(stderr).toMatch(/^The database does not hold migration 0000_initial as it is written here: .+\.\n$/);
  expect(status).toBe(1);
});

test("a migration of a version older than the database succeeds and changes nothing, as after a rollback", async () => {
  const sql = postgres(database.url, { max: 1 });
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9e12)`;
  const { status, stdout } = runMigration({
    MARINA_DATABASE_URL: database.url,
    MARINA_DATABASE_APISERVER_ROLE: apiserver().username,
  });
  expect(stdout).toBe(
    "The database has the schema of a newer version, which was left as it is: this version works with it.\n",
  );
  expect(status).toBe(0);
  const [granted] =
    await sql`select has_table_privilege(${apiserver().username}, 'organizations', 'select') as it`;
  expect(granted).toEqual({ it: false });
  await sql.end();
});

test("a migration of a version older than the database is refused where the database lacks one of its own", async () => {
  const sql = postgres(database.url, { max: 1 });
  await sql`update drizzle.__drizzle_migrations set hash = 'newer', created_at = 9e12 where id = 1`;
  await sql.end();
  const { status, stderr } = runMigration({ MARINA_DATABASE_URL: database.url });
  expect(stderr).toMatch(/^The database does not hold migration 0000_initial as it is written here: .+\.\n$/);
  expect(status).toBe(1);
});

test("a migration that is killed in the middle has changed nothing, and the next one does it all", async () => {
  await empty();
  const sql = postgres(database.url, { max: 2, onnotice: () => undefined });
  const name = new URL(database.url).pathname.slice(1);
  // A table that is not committed yet: the migration that creates the same one waits for it.
  await sql.begin(async (tx) => {
    await tx`create table organizations (id int)`;
    const child = spawn(process.execPath, [PROGRAM], {
      env: cleanEnvironment({ MARINA_DATABASE_URL: database.url }),
      stdio: "ignore",
    });
    await waitFor("the migration to be in the middle", async () => {
      const [waiting] = await sql`
        select 1 from pg_stat_activity where datname = ${name} and wait_event_type = 'Lock'`;
      return waiting;
    });
    child.kill("SIGKILL");
    await once(child, "exit");
    await tx`drop table organizations`;
  });
  const listTables = () => sql`select tablename from pg_tables where schemaname = 'public'`;
  await waitFor("its transaction to end", async () => {
    const [left] = await sql`
      select 1 from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid() and state <> 'idle'`;
    return left === undefined;
  });
  expect(await listTables()).toHaveLength(0);
  expect(runMigration({ MARINA_DATABASE_URL: database.url })).toMatchObject({ status: 0, stderr: "" });
  expect((await listTables()).map(({ tablename }) => tablename)).toContain("organizations");
  await sql.end();
});
