import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findVersionFault, requireUsableVersion } from "./run-version.ts";

const migrations = ["0001_first", "0002_second"];
const current = { layout: 3, lastMigration: "0002_second", kubernetes: "v1.36.4", postgresMajor: 18 };

test.each([
  { title: "of this version", changes: {}, fault: undefined },
  { title: "with fewer migrations", changes: { lastMigration: "0001_first" }, fault: undefined },
  { title: "of another patch", changes: { kubernetes: "v1.36.9" }, fault: undefined },
  { title: "of the minor before", changes: { kubernetes: "v1.35.1" }, fault: undefined },
  { title: "of an older layout", changes: { layout: 2 }, fault: "an older version of the project" },
  { title: "of a newer layout", changes: { layout: 4 }, fault: "a newer version of the project" },
  {
    title: "with a migration that is not here",
    changes: { lastMigration: "0003_third" },
    fault: "a version of the project with another database (0003_third)",
  },
  {
    title: "of a newer Kubernetes",
    changes: { kubernetes: "v1.37.0" },
    fault: "a version of the project with Kubernetes v1.37.0",
  },
  {
    title: "of a Kubernetes two minors before",
    changes: { kubernetes: "v1.34.8" },
    fault: "a version of the project with Kubernetes v1.34.8",
  },
  {
    title: "of another Postgres",
    changes: { postgresMajor: 17 },
    fault: "a version of the project with Postgres 17",
  },
])("a run directory $title: $fault", ({ changes, fault }) => {
  expect(findVersionFault({ ...current, ...changes }, current, migrations)).toBe(fault);
});

function openFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "marina-version-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test("a new run directory gets this version, and can be used again", () => {
  const dir = openFolder();
  requireUsableVersion(dir);
  const recorded = readFileSync(join(dir, "version.json"), "utf8");
  writeFileSync(join(dir, "secrets.json"), "{}");
  requireUsableVersion(dir);
  expect(readFileSync(join(dir, "version.json"), "utf8")).toBe(recorded);
});

test("a run directory without a version is of an older one: one sentence says so, with the way out", () => {
  const dir = openFolder();
  writeFileSync(join(dir, "secrets.json"), "{}");
  expect(() => requireUsableVersion(dir)).toThrow(
    `${dir} was written by an older version of the project: start with \`npm start -- --fresh\`, which deletes the clusters and the data in it.`,
  );
});
