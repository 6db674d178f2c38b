import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor, waitForRegistry } from "../../../e2e/platform/stack/testing.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { startImageScanner } from "../index.ts";
import { pushTestImage, pushTestIndex, testRegistry } from "../testing.ts";
import { PRIORITIES, requestScan } from "./store.ts";
import { registryScans } from "./table.ts";

let api: TestApp;
let folder: string;
const stop = new AbortController();
let stopped: Promise<void>;

/** In place of grype: notes what it is asked to scan, and finds nothing; in `beside` until another scan begins, 3 s at most. */
const SCRIPT = `#!/bin/sh
cd "$(dirname "$0")"
case "$1" in db) echo '{"built": "2026-11-01T00:00:00Z"}'; exit ;; *) echo "$1" >> asked ;; esac
case "$1" in *beside*) timeout 3 sh -c 'until tail -n 1 asked | grep -qv beside; do sleep 0.1; done'; echo alone >> asked ;; esac
echo '{"matches": []}'
`;

beforeAll(async () => {
  await waitForRegistry();
  folder = await mkdtemp(join(tmpdir(), "marina-worker-"));
  const command = join(folder, "grype");
  await writeFile(command, SCRIPT, { mode: 0o755 });
  await writeFile(join(folder, "asked"), "");
  await mkdir(join(folder, "6"));
  await writeFile(join(folder, "6", "import.json"), JSON.stringify({ digest: "1" }));
  const scanner = {
    command,
    databaseDir: folder,
    databaseUrl: undefined,
    caDir: undefined,
    socket: undefined,
    concurrency: 3,
    timeoutSeconds: 10,
    memoryMiB: 512,
    diskMiB: 512,
  };
  api = await startTestApp({ registry: { scanner } });
});
afterAll(async () => {
  stop.abort();
  await stopped;
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

test("an image that ended the scanner's program twice is an Error without a third scan; one that was beside it is scanned alone, for as long as one image may take, and others after it", async () => {
  const orgId = await api.createOrganization();
  const { db, now } = api.deps;
  const digests: string[] = [];
  for (const repository of ["fatal", "beside", "web"]) {
    const place = { orgId, repository, tag: "1" };
    const { digest } = await pushTestImage(testRegistry(api), place, { [repository]: "1" });
    await requestScan(db, { orgId, digest, repository, priority: PRIORITIES.requested, at: now() });
    digests.push(digest);
  }
  const place = { orgId, repository: "beside-long", tag: "1" };
  const images = [];
  for (const zlib of ["1", "2", "3", "4"])
    images.push(await pushTestImage(testRegistry(api), place, { zlib }));
  const { digest: long } = await pushTestIndex(testRegistry(api), place, images);
  const request = { orgId, digest: long, repository: place.repository, priority: PRIORITIES.requested };
  await requestScan(db, { ...request, at: now() });
  const [fatal = "", beside = "", web = ""] = digests;
  const find = async (digest: string) => {
    const isImage = and(eq(registryScans.orgId, orgId), eq(registryScans.digest, digest));
    return (await db.select().from(registryScans).where(isImage))[0];
  };
  await db.update(registryScans).set({ attempts: 2 }).where(eq(registryScans.digest, fatal));
  for (const digest of [beside, long])
    await db.update(registryScans).set({ attempts: 1 }).where(eq(registryScans.digest, digest));
  ({ stopped } = startImageScanner(api.deps, stop.signal));
  await waitFor("the scans to end", async () => {
    const rows = [await find(fatal), await find(beside), await find(web), await find(long)];
    return rows.every((row) => row?.dueAt === null);
  });
  expect(await find(fatal)).toMatchObject({ state: "error", fault: "failed", attempts: 0 });
  expect(await find(long)).toMatchObject({ state: "error", fault: "timeout", attempts: 0 });
  expect([await find(beside), await find(web)]).toMatchObject(
    Array(2).fill({ state: "success", attempts: 0 }),
  );
  const asked = (await readFile(join(folder, "asked"), "utf8")).trim().split("\n");
  expect(asked.slice(0, 3).map((line) => line.split("@")[1] ?? line)).toEqual([beside, "alone", web]);
});
