import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeWorkFolder, removeAbandonedDownloads, removeAbandonedWorkFolders } from "./database.ts";

const HOUR_SECONDS = 3600;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "marina-database-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function makeFolder(name: string, ageSeconds: number): void {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, "vulnerability.db"), "x");
  const changedAt = Date.now() / 1000 - ageSeconds;
  utimesSync(join(folder, name), changedAt, changedAt);
}

test("what a killed download left is deleted, and neither a download that runs nor the database", async () => {
  makeFolder("grype-db-download1", HOUR_SECONDS);
  makeFolder("grype-db-download2", 60);
  makeFolder("6", HOUR_SECONDS);
  await removeAbandonedDownloads(folder);
  expect(readdirSync(folder).sort()).toEqual(["6", "grype-db-download2"]);
});

test("a folder that is not there yet has nothing to delete", async () => {
  await expect(removeAbandonedDownloads(join(folder, "missing"))).resolves.toBeUndefined();
});

test("what killed processes left of their scans is deleted, and nothing of a process that runs", async () => {
  vi.stubEnv("TMPDIR", folder);
  const own = basename(await makeWorkFolder());
  const kept = [own, `marina-grype-${process.ppid}-1-Ab3dEf`, "marina-grype-notes"];
  // The kernel gives no number above 4194304 (proc_sys_kernel(5), pid_max).
  const left = ["marina-grype-4194305-1-Ab3dEf", `marina-grype-${process.pid}-1-Ab3dEf`];
  for (const name of [...kept.slice(1), ...left]) makeFolder(name, HOUR_SECONDS);
  await removeAbandonedWorkFolders();
  expect(readdirSync(folder).sort()).toEqual(kept.sort());
});
