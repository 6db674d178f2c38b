import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import postgres from "postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanEnvironment } from "../e2e/platform/programs/environment.ts";
import { findFreePort } from "../e2e/platform/programs/free-port.ts";
import { DIST } from "../e2e/platform/stack/marina.ts";
import { readPartEnvironment } from "../e2e/platform/stack/part-environment.ts";
import { readStack, waitFor } from "../e2e/platform/stack/testing.ts";
import { grantRights, migrate } from "./db/migrate.ts";
import { createTestDatabase, type TestDatabase } from "./db/testing.ts";

let database: TestDatabase;
const running: ChildProcess[] = [];

beforeEach(async () => {
  database = await createTestDatabase(readStack().databaseUrl);
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  await database.drop();
});

/** The address of the API server's own role in the test database, with some parts replaced. */
function address(change: Partial<Pick<URL, "host" | "pathname" | "password">> = {}): string {
  const { username, password } = new URL(readPartEnvironment("apiserver").MARINA_DATABASE_URL ?? "");
  return Object.assign(new URL(database.url), { username, password, ...change }).href;
}

/** Starts the API server of the stack with other settings. */
function startApiserver(settings: Record<string, string>) {
  const ports = { MARINA_PORT: "0", MARINA_METRICS_PORT: "0", MARINA_ROLES: "api" };
  const child = spawn(process.execPath, [join(DIST, "apiserver.js")], {
    env: cleanEnvironment({ ...readPartEnvironment("apiserver"), ...ports, ...settings }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  const output = { log: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.log += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.errors += text));
  return { child, output };
}

/** Its exit code and what it wrote to standard error when it has ended by itself. */
async function runToItsEnd(settings: Record<string, string>) {
  const { child, output } = startApiserver(settings);
  const [status] = await once(child, "close");
  return { status, errors: output.errors };
}

async function withOwner(use: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  await use(sql);
  await sql.end();
}

const grant = () => grantRights(database.url, new URL(address()).username);

test.each<[string, () => Record<string, string>, RegExp]>([
  [
    "no address of a database, as when a Secret lacks the key",
    () => ({ MARINA_DATABASE_URL: "" }),
    /^The configuration is invalid:\n {2}MARINA_DATABASE_URL: .+\n$/,
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
])("an API server with %s ends with one sentence that says what to do", async (_, settings, expected) => {
  const { status, errors } = await runToItsEnd(settings());
  expect(errors).toMatch(expected);
  expect(errors).not.toContain("another-secret");
  expect(status).toBe(1);
});

/** Its answer on /readyz, once it has listened and its database has responded within the 2 s of a check. */
async function readReadiness({ child, output }: ReturnType<typeof startApiserver>) {
  const line = await waitFor("the API server to listen", () => {
    if (child.exitCode !== null) throw new Error(output.errors);
    return output.log.split("\n").find((text) => text.includes('"listening"'));
  });
  return waitFor("the database to be ready", async () => {
    const response = await fetch(`http://127.0.0.1:${JSON.parse(line).metricsPort}/readyz`);
    const text = await response.text();
    return text.includes("[+]database ok") && text;
  });
}

const NEWEST = "(select max(created_at) from drizzle.__drizzle_migrations)";

test.each<[string, () => Promise<unknown>, () => Promise<unknown>, RegExp]>([
  [
    "rights",
    async () => undefined,
    grant,
    /The role \S+ may not read the table drizzle\.__drizzle_migrations: run the migration with MARINA_DATABASE_APISERVER_ROLE=\S+, which grants it, or correct the role in MARINA_DATABASE_URL\./,
  ],
  [
    "the right to a new table",
    async () => {
      await grant();
      await withOwner((sql) => sql`create table new_table (id int)`);
    },
    grant,
    /The role \S+ may not read the table new_table: run the migration .+\./,
  ],
  [
    "tables",
    () =>
      withOwner(async (sql) => {
        await sql`drop schema public cascade`;
        await sql`drop schema drizzle cascade`;
        await sql`create schema public`;
        await sql`grant usage on schema public to public`;
      }),
    async () => {
      await migrate(database.url);
      await grant();
    },
    /The database has no tables of Marina: this program waits until the migration of this version has run .+\./,
  ],
  [
    "the newest migration",
    async () => {
      await grant();
      await withOwner((sql) =>
        sql.unsafe(
          `update drizzle.__drizzle_migrations set created_at = -created_at where created_at = ${NEWEST}`,
        ),
      );
    },
    () =>
      withOwner(
        (sql) => sql`update drizzle.__drizzle_migrations set created_at = -created_at where created_at < 0`,
      ),
    /The database lacks the migration \d{4}_\w+: this program waits until .+\./,
  ],
])(
  "an API server whose database has not %s yet says so, is not ready, and becomes it once the migration has run",
  async (_, prepare, mend, expected) => {
    await prepare();
    const port = String(await findFreePort());
    const { child, output } = startApiserver({ MARINA_DATABASE_URL: address(), MARINA_METRICS_PORT: port });
    await waitFor("the warning", () => {
      if (child.exitCode !== null) throw new Error(output.errors);
      return expected.test(output.log);
    });
    const readReadyz = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
    const lines = (await readReadyz()).split("\n");
    expect(lines).toContain("[-]schema failed");
    expect(lines).toContain("[+]database ok");
    await mend();
    await waitFor("the schema", async () => (await readReadyz()).includes("[+]schema ok"));
    expect(child.exitCode).toBeNull();
  },
);

test("an API server before a database of a newer version works, and says what to do", async () => {
  await grant();
  await withOwner(
    (sql) => sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9e12)`,
  );
  const apiserver = startApiserver({ MARINA_DATABASE_URL: address() });
  expect(await readReadiness(apiserver)).toContain("[+]database ok");
  expect(apiserver.output.log).toContain(
    '"msg":"The database was migrated by a newer version: upgrade this program to that version."',
  );
});

test("an API server whose issuer cannot be reached is not ready, and says what to check", async () => {
  await grant();
  const issuer = `http://127.0.0.1:${await findFreePort()}`;
  const apiserver = startApiserver({
    MARINA_DATABASE_URL: address(),
    MARINA_OIDC_ISSUERS: JSON.stringify([{ issuer, audience: "marina" }]),
  });
  expect(await readReadiness(apiserver)).toContain("[-]identity provider failed");
  await waitFor("the warning", () =>
    apiserver.output.log.includes(
      `The keys of the issuer ${issuer} cannot be read (ECONNREFUSED), so that nobody can sign in with it: check MARINA_OIDC_ISSUERS and that this program can reach ${issuer}/.well-known/openid-configuration.`,
    ),
  );
});

test("an API server waits for a Postgres that cannot be reached, says so, and starts when it can", async () => {
  await grant();
  const { hostname, port } = new URL(database.url);
  const closedPort = await findFreePort();
  const apiserver = startApiserver({ MARINA_DATABASE_URL: address({ host: `127.0.0.1:${closedPort}` }) });
  await waitFor("the warning", () =>
    apiserver.output.log.includes(
      `Postgres at 127.0.0.1:${closedPort} cannot be reached (ECONNREFUSED): check the address in MARINA_DATABASE_URL`,
    ),
  );
  const relay = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    for (const end of [socket, upstream]) end.on("error", () => end.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => relay.listen(closedPort, "127.0.0.1", resolve));
  expect(await readReadiness(apiserver)).toContain("[+]database ok");
  apiserver.child.kill("SIGTERM");
  await once(apiserver.child, "exit");
  relay.close();
});
