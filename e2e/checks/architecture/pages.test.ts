import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..", "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const foldersOf = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [`${folder}/${entry.name}`] : [],
  );

test.each(readdirSync(join(root, "docs")))("README links docs/%s", (page) => {
  expect(read("README.md")).toContain(`(docs/${page})`);
});

describe("docs/architecture.md", () => {
  const page = read("docs/architecture.md");
  const folders = ["apiserver", "operator", "shared", "e2e"].flatMap(foldersOf);

  // Helpers of tests and benches of a program lie in folders of these names, which docs/testing.md explains.
  test.each(folders.filter((folder) => !/^(apiserver|operator)\/(testing|bench)$/.test(folder)))(
    "names the folder %s",
    (folder) => {
      expect(page).toMatch(new RegExp(`(^|[ /])${folder.split("/")[1]}/`, "m"));
    },
  );
});
