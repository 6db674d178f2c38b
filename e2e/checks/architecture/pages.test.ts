import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listSourceFiles } from "./imports.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const readers = ["tenants", "operators", "contributors"];

test("every page of docs/ is for tenants, operators or contributors", () => {
  expect(readdirSync(join(root, "docs")).toSorted()).toEqual(readers.toSorted());
});

test.each(
  readers.flatMap((reader) => readdirSync(join(root, "docs", reader)).map((page) => `${reader}/${page}`)),
)("README links docs/%s", (page) => {
  expect(read("README.md")).toContain(`(docs/${page})`);
});

describe("docs/contributors/architecture.md", () => {
  const page = read("docs/contributors/architecture.md");
  const files = listSourceFiles(root, ["apiserver", "operator", "shared", "e2e"]);
  const folders = new Set(files.flatMap((file) => /^[^/]+\/[^/]+(?=\/)/.exec(file) ?? []));

  // Helpers of tests and benches of a program lie in folders of these names, which docs/contributors/testing.md explains.
  test.each([...folders].filter((folder) => !/^(apiserver|operator)\/(testing|bench)$/.test(folder)))(
    "names the folder %s",
    (folder) => {
      expect(page).toMatch(new RegExp(`(^|[ /])${folder.split("/")[1]}/`, "m"));
    },
  );
});
