import { describe, expect, test } from "vitest";
import { digestInputs, type Sources } from "./test-inputs.ts";

const FILES = [
  "apiserver/a.test.ts",
  "apiserver/a.ts",
  "apiserver/b.ts",
  "apiserver/a.int.test.ts",
  "apiserver/other.ts",
  "e2e/stories/tenant.test.ts",
  "operator/main.ts",
  "operator/main.test.ts",
  "crds/cluster.yaml",
  "docs/page.md",
  "e2e/pages.test.ts",
];

const IMPORTS = [
  { from: "apiserver/a.test.ts", to: "apiserver/a.ts" },
  { from: "apiserver/a.int.test.ts", to: "apiserver/a.ts" },
  { from: "apiserver/a.ts", to: "apiserver/b.ts" },
  // A circle ends.
  { from: "apiserver/b.ts", to: "apiserver/a.ts" },
  { from: "apiserver/a.ts", to: "node:fs" },
];

const sources = (changed?: string): Sources => ({
  digests: new Map(FILES.map((file) => [file, file === changed ? "2" : "1"])),
  readers: new Set(["e2e/pages.test.ts"]),
  imports: IMPORTS,
});

const TESTS = FILES.filter((file) => file.endsWith(".test.ts"));
const before = digestInputs(TESTS, sources());

describe("a change makes exactly those tests run again whose inputs it is", () => {
  test.each([
    ["apiserver/b.ts", ["apiserver/a.test.ts", "apiserver/a.int.test.ts", "e2e/stories/tenant.test.ts"]],
    ["apiserver/other.ts", ["e2e/stories/tenant.test.ts"]],
    ["operator/main.ts", ["apiserver/a.int.test.ts", "e2e/stories/tenant.test.ts"]],
    ["operator/main.test.ts", ["operator/main.test.ts"]],
    ["crds/cluster.yaml", TESTS],
    ["docs/page.md", ["e2e/pages.test.ts"]],
    ["apiserver/a.test.ts", ["apiserver/a.test.ts"]],
  ])("%s", (changed, expected) => {
    const after = digestInputs(TESTS, sources(changed));
    expect(TESTS.filter((file) => after.get(file) !== before.get(file)).toSorted()).toEqual(
      expected.toSorted(),
    );
  });
});
