import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ensureGrype, writeVulnerabilityDatabase } from "../../../e2e/platform/stack/registry.ts";
import { waitForRegistry } from "../../../e2e/platform/stack/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { type Listening, listen } from "../../webhooks/sending/testing-receiver.ts";
import { startImageScanner } from "../index.ts";
import { pushLayer, testRegistry } from "../testing.ts";
import { readDatabaseBuiltAt, readDatabaseVersion, updateDatabase } from "./database.ts";
import { registryScans } from "./table.ts";

const run = promisify(execFile);
/** Four times what the scanner may unpack; packed, half a megabyte. */
const BOMB_BYTES = 512 * 1024 ** 2;
/** Each database that is offered is a minute newer than the one before, or the scanner keeps what it has. */
let offeredMinutes = 0;
const nextBuilt = () => new Date(Date.now() + ++offeredMinutes * 60_000).toISOString();

let folder: string;
let server: Listening;
let databaseUrl: string;
let command: string;
let databaseDir: string;

beforeAll(async () => {
  command = await ensureGrype();
  folder = await mkdtemp(join(tmpdir(), "marina-databases-"));
  const files = createServer((request, response) => {
    readFile(join(folder, "offered", request.url ?? "")).then(
      (body) => response.end(request.method === "HEAD" ? undefined : body),
      () => response.writeHead(404).end(),
    );
  });
  server = await listen(files);
  databaseUrl = `http://127.0.0.1:${server.port}`;
});
beforeEach(async () => {
  databaseDir = await mkdtemp(join(folder, "database-"));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Offers a database for download, as its provider does. */
async function offerDatabase(id: string): Promise<void> {
  const source = await mkdtemp(join(folder, "source-"));
  await writeVulnerabilityDatabase(source, [{ id, severity: "high", package: "curl" }]);
  const offered = join(folder, "offered", "v6");
  await mkdir(offered, { recursive: true });
  const path = `vulnerability-db_${id}.tar.gz`;
  await run("tar", ["czf", join(offered, path), "-C", join(source, "6"), "vulnerability.db"]);
  const checksum = createHash("sha256")
    .update(await readFile(join(offered, path)))
    .digest("hex");
  const latest = {
    status: "active",
    schemaVersion: "6.0.3",
    built: nextBuilt(),
    path,
    checksum: `sha256:${checksum}`,
  };
  await writeFile(join(offered, "latest.json"), JSON.stringify(latest));
}

const config = () => ({ command, databaseDir, caDir: undefined, socket: undefined });
const update = (url = databaseUrl) =>
  updateDatabase({ ...config(), databaseUrl: url }, new AbortController().signal);

describe("an update of the vulnerability database", () => {
  test("downloads the one that is offered, and the next one in its place", async () => {
    await expect(readDatabaseVersion(config())).rejects.toMatchObject({ fault: "scanner_unavailable" });
    await offerDatabase("CVE-2026-1");
    await update();
    const first = await readDatabaseVersion(config());
    await offerDatabase("CVE-2026-2");
    await update();
    expect(await readDatabaseVersion(config())).not.toBe(first);
  });

  test("that fails leaves the database that is there", async () => {
    await offerDatabase("CVE-2026-3");
    await update();
    const version = await readDatabaseVersion(config());
    await expect(update("http://127.0.0.1:9")).rejects.toMatchObject({ fault: "scanner_unavailable" });
    await writeFile(join(folder, "offered", "v6", "vulnerability-db_CVE-2026-4.tar.gz"), "no archive");
    const latest = JSON.parse(await readFile(join(folder, "offered", "v6", "latest.json"), "utf8"));
    const broken = { ...latest, built: nextBuilt(), path: "vulnerability-db_CVE-2026-4.tar.gz" };
    await writeFile(join(folder, "offered", "v6", "latest.json"), JSON.stringify(broken));
    await expect(update()).rejects.toMatchObject({ fault: "scanner_unavailable" });
    expect(await readDatabaseVersion(config())).toBe(version);
  });

  test("does not reset the age of a database, which counts from when it was built", async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    await writeVulnerabilityDatabase(databaseDir, []);
    const builtAt = await readDatabaseBuiltAt(config());
    expect(builtAt.getTime()).toBeGreaterThanOrEqual(before);
    await run("touch", ["-d", "2030-01-01", join(databaseDir, "6", "vulnerability.db")]);
    expect(await readDatabaseBuiltAt(config())).toEqual(builtAt);
  });
});

/** An application with a scanner, both of which end with the test. */
async function startScanning(limits: { databaseUrl?: string; diskMiB: number }) {
  await waitForRegistry();
  const scanner = {
    ...config(),
    databaseUrl: undefined,
    concurrency: 1,
    timeoutSeconds: 60,
    memoryMiB: 2048,
  };
  const api = await startTestApp({ registry: { scanner: { ...scanner, ...limits } } });
  const stop = new AbortController();
  const { stopped } = startImageScanner(api.deps, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await stopped;
    await api.close();
  });
  return api;
}

test("a scanner with an empty folder downloads the database by itself, and tells how old it is", async () => {
  await offerDatabase("CVE-2026-5");
  const api = await startScanning({ databaseUrl, diskMiB: 1024 });
  const metric = /^marina_apiserver_vulnerability_database_timestamp_seconds (\S+)$/m;
  await expect
    .poll(async () => Number(metric.exec(await api.deps.metrics.metrics())?.[1] ?? 0))
    .toBeGreaterThan(Date.now() / 1000 - 3600);
  await expect.poll(() => api.deps.metrics.metrics()).toContain('database_updates_total{result="done"} 1');
});

test("a scan of an image that unpacks to more than there is room for ends, and its files are gone", async () => {
  await writeVulnerabilityDatabase(databaseDir, []);
  const scratch = await mkdtemp(join(folder, "scratch-"));
  vi.stubEnv("TMPDIR", scratch);
  onTestFinished(() => void vi.unstubAllEnvs());
  const api = await startScanning({ diskMiB: 128 });
  const orgId = await api.createOrganization();
  const place = { orgId, repository: "bomb", tag: "1" };
  const bomb = gzipSync(Buffer.alloc(BOMB_BYTES));
  await pushLayer(testRegistry(api), place, bomb, "application/vnd.oci.image.layer.v1.tar+gzip");
  const path = `/api/v1/organizations/${orgId}/registry/repositories/bomb/tags/1/scan`;
  expect((await api.request("POST", path)).status).toBe(202);
  const read = () => api.deps.db.select().from(registryScans).where(eq(registryScans.orgId, orgId));
  await expect.poll(read).toMatchObject([{ fault: "out_of_disk" }]);
  expect(await readdir(scratch)).toEqual([]);
});
