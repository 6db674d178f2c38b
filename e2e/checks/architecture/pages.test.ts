import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { readTable } from "../../../shared/program/testing-tables.ts";
import { isTestFile, listSourceFiles } from "./imports.ts";
import { findMetrics } from "./metrics.ts";

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

describe("values of the chart", () => {
  const isValid = new Ajv({ strict: false, validateFormats: false }).compile(
    JSON.parse(read("charts/marina/values.schema.json")),
  );
  const pages = [
    "charts/marina/README.md",
    ...globSync("docs/operators/{arm,cluster-class,install,openshift,plans,identity/*}.md", { cwd: root }),
  ];
  // An object of Kubernetes has metadata; the file of another program has that one's name as its first line.
  const isOfOther = (text: string) => /^metadata:/m.test(text) || /^# (?!values\.yaml)/.test(text);
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/\n```yaml\n([\s\S]*?)\n```/g)]
      .map(([, values = ""]) => ({ page, values }))
      .filter(({ values }) => !isOfOther(values)),
  );

  test.each(blocks)("in $page are of the chart: $values", ({ values }) => {
    isValid(parse(values));
    expect(isValid.errors).toBeNull();
  });
});

test("docs/operators/access.md has every role of the chart", () => {
  const roles = globSync("charts/marina/templates/roles/*.yaml", { cwd: root }).flatMap((file) =>
    [...read(file).matchAll(/kind: ClusterRole\nmetadata:\n {2}name: (\S+)/g)].map(([, name = ""]) => name),
  );
  const table = readTable("docs/operators/access.md", "# Access for people and pipelines in Kubernetes");
  expect(table.map(([name = ""]) => name.replaceAll("`", "")).toSorted()).toEqual(roles.toSorted());
});

describe("command blocks", () => {
  const pages = globSync("{*.md,docs/**/*.md,charts/**/*.md,examples/**/*.md}", { cwd: root });
  const blocks = pages.flatMap((page) =>
    read(page)
      .split(/\n[ \d.]*```(?:sh|bash|console)\n/)
      .flatMap((before, index, parts) => {
        const commands = parts[index + 1]?.split("\n```", 1)[0];
        return commands === undefined ? [] : [{ page, mark: before.split("\n").at(-1) ?? "", commands }];
      }),
  );

  test.each(blocks)("of $page are run by a test, or say why not: $commands", ({ mark }) => {
    expect(mark.trim()).toMatch(
      /^<!-- (run by e2e\/(stories\/documented-commands|install\/walk)\.test\.ts|not run: \S.+) -->$/,
    );
  });
});

test.each([
  ...globSync("{*.md,docs/**/*.md,examples/**/*.md}", { cwd: root }),
  "charts/marina/templates/NOTES.txt",
])("%s writes the resource clusters with its group", (page) => {
  expect(
    read(page).match(/kubectl (?:\S+ )*(?:get|describe|delete|wait|patch) clusters\b(?!\.).*/g),
  ).toBeNull();
});

describe("docs/contributors/architecture.md", () => {
  const page = read("docs/contributors/architecture.md");
  const files = listSourceFiles(root, ["apiserver", "operator", "shared", "e2e"]);
  const folders = new Set(files.flatMap((file) => /^[^/]+\/[^/]+(?=\/)/.exec(file) ?? []));

  // Helpers of tests and benches of a program lie in folders of these names, which docs/contributors/testing.md explains.
  test.each([...folders].filter((folder) => !/^(apiserver|operator)\/(testing|bench)$/.test(folder)))(
    "names the folder %s",
    (folder) => {
      const name = `${folder.split("/")[1]}/`;
      const isNamed = new RegExp(`(^|[ /])${name}`, "m").test(page);
      expect(isNamed, `the tree in docs/contributors/architecture.md has no ${name} of ${folder}`).toBe(true);
    },
  );
});

describe("docs/operators/names.md", () => {
  const page = "docs/operators/names.md";
  const programs = listSourceFiles(root, ["apiserver", "operator", "shared"])
    .filter((file) => !isTestFile(file))
    .map((file) => ({ file, text: read(file) }));

  test("has every label, annotation, finalizer and taint of cloud.marina.dev that the programs or the chart write, and no other", () => {
    const charts = globSync("charts/*/{values.yaml,templates/**/*.yaml}", { cwd: root }).map(read);
    const texts = [...programs.map(({ text }) => text), ...charts];
    const written =
      /["\s](cloud\.marina\.dev\/[a-z-]+|(?:recreate|release)\.cloud\.marina\.dev|replace\.cloud\.marina\.dev\/)["':]/g;
    const names = texts.flatMap((text) => [...text.matchAll(written)].map(([, name = ""]) => name));
    const rows = readTable(page, "## Labels, annotations and others");
    const documented = rows.map(([name = ""]) => name.replaceAll("`", "").replace("<node>", ""));
    expect(documented.toSorted()).toEqual([...new Set(names)].toSorted());
  });

  test("has every metric of both programs with its type and labels", () => {
    const declared = programs.flatMap(({ file, text }) => findMetrics(file, text));
    const rows = declared.map(({ name, type, labels }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(", "),
    ]);
    const byName = (one: string[], other: string[]) => String(one[0]).localeCompare(String(other[0]));
    const table = readTable(page, "## Metrics").map((cells) => cells.slice(0, 3));
    expect(table.toSorted(byName)).toEqual(rows.toSorted(byName));
  });

  test.each([
    [
      "a counter with labels",
      'new Counter({ name: "marina_apiserver_a_total", labelNames: ["b"], registers })',
      "b",
    ],
    [
      "a gauge whose name is a constant",
      'const name = "marina_apiserver_a_total";\nnew Gauge({ name, registers })',
      "",
    ],
    [
      "a gauge for each call",
      `new Gauge({ name: \`marina_apiserver_\${name}\`, registers })\ngauge("a_total")`,
      "",
    ],
    [
      "a gauge for each entry",
      `const all = [{ name: "a_total" }];\nnew Gauge({ name: \`marina_apiserver_\${name}\`, registers })`,
      "",
    ],
  ])("would find %s", (_, text, label) => {
    const labels = label === "" ? [] : [label];
    expect(findMetrics("apiserver/a.ts", text)).toMatchObject([{ name: "marina_apiserver_a_total", labels }]);
  });
});
