import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findStaleFiles, renderFiles, renderPolicies } from "./generate.ts";

const crds = join(import.meta.dirname, "../../crds");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "crds-"));
  await cp(crds, folder, { recursive: true, dereference: true });
});
afterEach(() => rm(folder, { recursive: true }));

test("the committed files match the schemas", async () => {
  expect(await findStaleFiles(crds)).toEqual([]);
  expect(await findStaleFiles(join(crds, "policy"), renderPolicies())).toEqual([]);
});

test("one file per kind and one for the identity policy", () => {
  expect([...renderFiles().keys()].sort()).toEqual([
    "cloud.marina.dev_clusteraccesses.yaml",
    "cloud.marina.dev_clusters.yaml",
    "cloud.marina.dev_nodepools.yaml",
    "cloud.marina.dev_storageinventories.yaml",
    "validating-admission-policy.yaml",
  ]);
});

test("a changed, a missing and an unknown file are reported as stale", async () => {
  await writeFile(join(folder, "cloud.marina.dev_clusters.yaml"), "changed");
  await rm(join(folder, "cloud.marina.dev_nodepools.yaml"));
  await writeFile(join(folder, "foreign.yaml"), "");
  expect(await findStaleFiles(folder)).toEqual([
    "cloud.marina.dev_clusters.yaml",
    "cloud.marina.dev_nodepools.yaml",
    "foreign.yaml",
  ]);
});
