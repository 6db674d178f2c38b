import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { parseEnv } from "node:util";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { APP, writeImageRoot } from "../../image.ts";
import { cleanEnvironment } from "../platform/programs/environment.ts";
import { PINNED_DIR, readModuleVersion } from "../platform/stack/go-module.ts";
import { OPERATOR_HEAP_GROWTH } from "../platform/stack/marina.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";

const ROOT = join(import.meta.dirname, "..", "..");
/** The user of the base image, and of the chart's Pods. */
const UID = 65_532;
const isRoot = process.getuid?.() === 0;

const stack = readStack();
const folder = mkdtempSync(join(tmpdir(), "marina-image-"));
const image = join(folder, "root");
const again = join(folder, "again");
const running: ChildProcess[] = [];

beforeAll(async () => {
  await writeImageRoot(image);
  await writeImageRoot(again);
  if (isRoot) chownSync(folder, UID, UID);
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Paths of all files below, relative and sorted. */
function listFiles(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
    .sort();
}

/**
 * The environment of a program of the stack; files that it names are copied to where the image's user can read them.
 */
function readEnvironment(program: string, settings: Record<string, string>): Record<string, string> {
  const environment = parseEnv(
    readFileSync(join(dirname(stack.kubeconfig), `${program}.env`), "utf8"),
  ) as Record<string, string>;
  for (const name of ["KUBECONFIG", "MARINA_WEBHOOK_CA_FILE"]) {
    const file = environment[name];
    if (file === undefined) continue;
    const copy = join(folder, `${program}-${name}`);
    cpSync(file, copy);
    if (isRoot) chownSync(copy, UID, UID);
    environment[name] = copy;
  }
  return cleanEnvironment({ ...environment, ...settings });
}

/** Runs a program as the image does: its name as the last argument, in the folder of the programs, as another user. */
function runImage(program: string, settings: Record<string, string> = {}, flags: readonly string[] = []) {
  const child = spawn(process.execPath, [...flags, program], {
    cwd: join(image, APP),
    env: readEnvironment(program, settings),
    stdio: ["ignore", "pipe", "pipe"],
    ...(isRoot ? { uid: UID, gid: UID } : {}),
  });
  running.push(child);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on("line", (line) => lines.push(line));
  return { child, lines };
}

/** Writes an invoice of an organization that does not exist; returns its id. */
async function insertInvoice(): Promise<string> {
  const sql = postgres(stack.databaseUrl, { max: 1 });
  const id = crypto.randomUUID();
  const party = sql.json({
    name: "Example Ltd",
    street: null,
    postalCode: null,
    city: null,
    country: "DE",
    vatId: null,
    email: null,
  });
  try {
    await sql`insert into invoices (id, org_id, period, number, year, sequence, issued_at, amount_cents, vat_case,
        vat_basis_points, vat_cents, supplier, buyer)
      values (${id}, ${crypto.randomUUID()}, '2026-10-01', ${id}, 1999, ${Date.now() % 1e9}, now(), 0, 'domestic', 1900, 0,
        ${party}, ${party})`;
  } finally {
    await sql.end();
  }
  return id;
}

describe("the programs run from the image's folder alone", () => {
  test("the migration", async () => {
    const { child, lines } = runImage("migrate");
    const [code] = await once(child, "exit");
    expect([code, lines.filter((line) => /error/i.test(line))]).toEqual([0, []]);
  });

  test("the API server", async () => {
    const { lines } = runImage("apiserver", {
      MARINA_PORT: "0",
      MARINA_METRICS_PORT: "0",
      MARINA_ROLES: "api",
    });
    const { address, metricsPort } = await waitFor("the API server to listen", async () => {
      const line = lines.find((one) => one.includes('"listening"'));
      if (line === undefined) throw new Error(lines.slice(-5).join("\n"));
      return JSON.parse(line);
    });
    await waitFor("it to be ready", async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok);
    expect((await fetch(`${address}/openapi.json`)).status).toBe(200);
    const invoice = await fetch(`${address}/api/v1/admin/billing/invoices/${await insertInvoice()}`, {
      headers: { accept: "application/pdf", authorization: `Bearer ${stack.tokens.staff}` },
    });
    expect(await invoice.text()).toMatch(/^%PDF-1\.7/);
  });

  test("the scanner, which is the API server's program with one role", async () => {
    const settings = { MARINA_PORT: "0", MARINA_METRICS_PORT: "0", MARINA_ROLES: "scanner" };
    const { lines } = runImage("apiserver", settings);
    const { metricsPort } = await waitFor("the scanner to listen", async () => {
      const line = lines.find((one) => one.includes('"listening"'));
      if (line === undefined) throw new Error(lines.slice(-5).join("\n"));
      return JSON.parse(line);
    });
    await waitFor("it to be ready", async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok);
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toContain("marina_apiserver_image_scans_total");
  });

  test("the operator", async () => {
    const settings = { MARINA_METRICS_PORT: "0", MARINA_STORAGE_DRIVER: "none" };
    const { child, lines } = runImage("operator", settings, [OPERATOR_HEAP_GROWTH]);
    const isReady = await waitFor("the operator to stand by", async () => {
      if (child.exitCode !== null) throw new Error(lines.slice(-5).join("\n"));
      return lines.some((line) => line.includes('"msg":"ready"'));
    });
    expect(isReady).toBe(true);
  });
});

test("the folder holds the programs, the migrations, the license, the list of libraries and the fonts, and nothing else", () => {
  const files = listFiles(join(image, APP));
  const migrations = readdirSync(join(ROOT, "apiserver", "db", "migrations"), {
    recursive: true,
    encoding: "utf8",
  });
  expect(files.filter((file) => !file.startsWith("migrations/"))).toEqual([
    "LICENSE",
    "apiserver.js",
    "data/sRGB_IEC61966_2_1.icc",
    "migrate.js",
    "node_modules/dejavu-fonts-ttf/LICENSE",
    "node_modules/dejavu-fonts-ttf/package.json",
    "node_modules/dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf",
    "node_modules/dejavu-fonts-ttf/ttf/DejaVuSans.ttf",
    "operator.js",
    "package.json",
    "sbom.cdx.json",
    "scanner.js",
  ]);
  expect(files.filter((file) => file.startsWith("migrations/"))).toHaveLength(
    migrations.filter((name) => statSync(join(ROOT, "apiserver", "db", "migrations", name)).isFile()).length,
  );
  const bytes = files.reduce((sum, file) => sum + statSync(join(image, APP, file)).size, 0);
  // The base image has 130 MB of the 200 that the whole may have.
  expect(bytes).toBeLessThan(70e6);
});

test("equal sources make equal files", () => {
  const files = listFiles(image);
  expect(listFiles(again)).toEqual(files);
  for (const file of files)
    expect(readFileSync(join(again, file)).equals(readFileSync(join(image, file)))).toBe(true);
});

test("the list of libraries names every dependency of the programs, and none of development", () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const sbom = JSON.parse(readFileSync(join(image, APP, "sbom.cdx.json"), "utf8"));
  const listed = new Set<string>(
    sbom.components.map(({ group, name }: { group?: string; name: string }) =>
      group === undefined ? name : `${group}/${name}`,
    ),
  );
  expect(Object.keys(dependencies).filter((name) => !listed.has(name))).toEqual([]);
  expect(["esbuild", "typescript", "vitest"].filter((name) => listed.has(name))).toEqual([]);
});

test("the Dockerfile makes the folder by the same script, and starts the programs as the chart does", () => {
  const steps = readFileSync(join(ROOT, "Dockerfile"), "utf8").split("\n");
  expect(steps).toContain("RUN node image.ts /image");
  expect(steps).toContain("COPY --from=build /image/ /");
  expect(steps).toContain(`WORKDIR /${APP}`);
  expect(steps).toContain(`USER ${UID}:${UID}`);
  expect(steps).toContain('ENTRYPOINT ["node"]');
  expect(steps.findLast((step) => step.startsWith("FROM "))).toBe("FROM programs AS marina");
  const copied = readFileSync(join(ROOT, ".dockerignore"), "utf8").matchAll(/^!(.+)$/gm);
  for (const [, name = ""] of copied) expect(readdirSync(ROOT)).toContain(name);
});

test("the image of the scanner has the version of grype that the tests run, where the scanner looks for it", () => {
  const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  const [, version] = /go install .*github\.com\/anchore\/grype\/cmd\/grype@(\S+)/.exec(dockerfile) ?? [];
  expect(version).toBe(readModuleVersion(PINNED_DIR, "github.com/anchore/grype"));
  expect(dockerfile).toContain("COPY --from=grype /go/bin/grype /usr/local/bin/grype\n");
});
