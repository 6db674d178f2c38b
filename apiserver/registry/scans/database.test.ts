import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeAbandonedDownloads } from "./database.ts";

const HOUR_SECONDS = 3600;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "marina-database-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

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
