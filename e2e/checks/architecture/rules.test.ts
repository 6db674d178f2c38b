import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findViolations } from "./check.ts";
import { findFolderCycles } from "./cycles.ts";
import { findRepeatedExports } from "./exported-names.ts";
import { findBrokenFileRules } from "./file-rules.ts";
import { findBrokenRule } from "./import-rules.ts";
import { type ImportEdge, isTestFile, listSourceFiles, readImports } from "./imports.ts";
import { findHelperFiles, measure } from "./measures.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const LIMITS = {
  // With room for a slice that is added.
  apiserver: 480,
  operator: 120,
  shared: 76,
  tables: 55,
  smallFiles: 80,
  repeatedBlocks: 0,
  lines: 250_120,
};

const NO_THROW = { throwIfNoEntry: false };
const NEWLINE = "\n".charCodeAt(0);

test("the repository keeps to its rules", () => {
  expect(findViolations(root)).toEqual([]);
});

const PROGRAMS = ["apiserver", "operator", "shared"];

function readProduction(): { file: string; text: string }[] {
  const files = listSourceFiles(root, PROGRAMS).filter((file) => !isTestFile(file));
  return files.map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
}

// What is reached, with room for one slice: a number that falls is lowered here.
test("the production code has no more files, tables, small files and repeated blocks than it had", () => {
  const measured = measure(readProduction(), PROGRAMS);
  expect(measured.files.apiserver).toBeLessThanOrEqual(LIMITS.apiserver);
  expect(measured.files.operator).toBeLessThanOrEqual(LIMITS.operator);
  expect(measured.files.shared).toBeLessThanOrEqual(LIMITS.shared);
  const tables = readProduction().map(({ text }) => text.split(" = pgTable(").length - 1);
  expect(tables.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(LIMITS.tables);
  expect(measured.smallFiles).toBeLessThanOrEqual(LIMITS.smallFiles);
  expect(measured.repeatedBlocks.slice(LIMITS.repeatedBlocks)).toEqual([]);
});

test("a file under 40 lines has a test of its own, a conventional name or more than one user", () => {
  const edges = readImports(root, PROGRAMS).filter(({ from }) => !isTestFile(from));
  const usersOf = (file: string) => edges.filter(({ to }) => to === file).map(({ from }) => from);
  const tests = ["test", "int.test", "long.test", "extended.test"];
  const hasTest = (file: string) =>
    tests.some((kind) => existsSync(join(root, file.replace(/ts$/, `${kind}.ts`))));
  expect(findHelperFiles(readProduction(), usersOf, hasTest)).toEqual([]);
});

// A copy of the repository, as the test of new-slice.md makes one, is not tracked.
test.skipIf(!existsSync(join(root, ".git")))("the repository has no more tracked lines than it had", () => {
  const list = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  const files = list
    .split("\0")
    .filter((file) => file !== "" && statSync(join(root, file), NO_THROW)?.isFile());
  const counts = files.map(
    (file) => readFileSync(join(root, file)).filter((byte) => byte === NEWLINE).length,
  );
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(LIMITS.lines);
});

test("12 lines that stand twice are one repeated block, however many more follow", () => {
  const lines = Array.from({ length: 14 }, (_, index) => `call(${index});`).join("\n");
  const sources = [
    { file: "apiserver/a.ts", text: `import { call } from "./call.ts";\n\n${lines}\n` },
    { file: "apiserver/b.ts", text: `${lines.replace("call(1);", "// why\ncall(1);")}\n` },
  ];
  expect(measure(sources, ["apiserver"])).toEqual({
    files: { apiserver: 2 },
    smallFiles: 2,
    repeatedBlocks: ["apiserver/b.ts:1 repeats apiserver/a.ts:3"],
  });
});

/** What vitest is configured to run. */
interface Suite {
  include?: string[];
  exclude?: string[];
  projects?: { test: Suite }[];
}

test("every test file is in a suite", async () => {
  const configurations = globSync(["vitest*.config.ts", "e2e/**/vitest.config.ts"], { cwd: root });
  const suites = await Promise.all(
    configurations.map(async (file) => (await import(join(root, file))).default.test as Suite),
  );
  const inSuites = suites
    .flatMap((suite) => suite.projects?.map((project) => project.test) ?? [suite])
    .flatMap(({ include = [], exclude = [] }) => globSync(include, { cwd: root, exclude }));
  const files = globSync("{apiserver,operator,shared,e2e}/**/*.test.ts", { cwd: root });
  expect(files.filter((file) => !inSuites.includes(file))).toEqual([]);
});

test("imports are found at all", () => {
  expect(readImports(root, ["apiserver", "operator"]).length).toBeGreaterThan(1000);
});

describe("import rules", () => {
  test.each([
    ["shared/program/log.ts", "operator/main.ts"],
    ["operator/main.ts", "apiserver/app.ts"],
    ["apiserver/app.ts", "operator/capi/cluster-api.ts"],
    ["operator/cluster/watch.ts", "drizzle-orm/postgres-js"],
    ["operator/capi/cluster-api.ts", "@hono/node-server"],
    ["operator/cluster/reconcile.ts", "shared/kube/client.ts"],
    ["operator/cluster/status.ts", "node:crypto"],
    ["shared/controller/queue.ts", "shared/crd/cluster.ts"],
    ["apiserver/main.ts", "e2e/platform/stack/stack.ts"],
    ["apiserver/members/store.ts", "apiserver/testing/app.ts"],
    ["e2e/platform/stack/stack.ts", "apiserver/db/client.ts"],
    ["apiserver/http/authentication/authenticator.ts", "apiserver/members/index.ts"],
    ["apiserver/db/client.ts", "apiserver/http/errors.ts"],
    ["apiserver/resources/project/upsert.ts", "apiserver/system-events/index.ts"],
    ["apiserver/audit/store.ts", "apiserver/resources/project/served-objects.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/app.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/node-pools/store.ts"],
    ["apiserver/clusters/store.ts", "apiserver/organizations/table.ts"],
    ["apiserver/organizations/routes.ts", "apiserver/members/index.ts"],
    ["apiserver/organizations/table.ts", "apiserver/members/table.ts"],
    ["apiserver/app.ts", "apiserver/members/store.ts"],
    ["apiserver/gadgets/routes.ts", "apiserver/http/errors.ts"],
    ["apiserver/config.ts", "apiserver/webhooks/index.ts"],
    ["apiserver/webhooks/config.ts", "apiserver/members/index.ts"],
  ])("refuse that %s imports %s", (from, to) => {
    expect(findBrokenRule({ from, to, line: 1 })).toBeTypeOf("string");
  });

  test.each([
    ["apiserver/clusters/routes.ts", "apiserver/node-pools/index.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/clusters/store.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/resources/write/write-object.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/http/errors.ts"],
    ["apiserver/members/table.ts", "apiserver/organizations/table.ts"],
    ["apiserver/app.ts", "apiserver/clusters/routes.ts"],
    ["apiserver/background.ts", "apiserver/clusters/index.ts"],
    ["apiserver/clusters/routes.int.test.ts", "apiserver/app.ts"],
    ["operator/cluster/watch.ts", "shared/kube/client.ts"],
    ["e2e/platform/stack/stack.ts", "apiserver/db/migrate.ts"],
    ["e2e/contract/openapi/document.ts", "apiserver/openapi/render.ts"],
    ["apiserver/config.ts", "apiserver/webhooks/config.ts"],
    ["apiserver/webhooks/config.ts", "apiserver/http/config.ts"],
  ])("allow that %s imports %s", (from, to) => {
    expect(findBrokenRule({ from, to, line: 1 })).toBeUndefined();
  });
});

describe("cycles", () => {
  const edges = (...pairs: [string, string][]): ImportEdge[] =>
    pairs.map(([from, to]) => ({ from, to, line: 1, typeOnly: true }));

  test("of folders are found through others, imports of types too", () => {
    const circle = edges(["p/a/x.ts", "p/b/x.ts"], ["p/b/x.ts", "p/c/x.ts"], ["p/c/x.ts", "p/a/x.ts"]);
    expect(findFolderCycles(circle)).toEqual([["p/a", "p/b", "p/c"]]);
    expect(findFolderCycles(circle.slice(1))).toEqual([]);
  });

  test("of folders are found where no file imports itself", () => {
    const circle = edges(["p/a/x.ts", "p/b/x.ts"], ["p/b/y.ts", "p/a/y.ts"]);
    expect(findFolderCycles(circle)).toEqual([["p/a", "p/b"]]);
  });

  test("of folders need more than a file next to the folders", () => {
    expect(findFolderCycles(edges(["p/main.ts", "p/a/x.ts"], ["p/a/x.ts", "p/config.ts"]))).toEqual([]);
  });
});

test("a name that two files of one program export is found, of two programs not", () => {
  const sources = [
    { file: "apiserver/a/store.ts", text: "export interface Page {}\n" },
    {
      file: "apiserver/b/store.ts",
      text: "// a page\nexport class Page {}\nexport async function read() {}\n",
    },
    { file: "operator/c/run.ts", text: "export function read() {}\n" },
    { file: "shared/d.ts", text: 'export { read } from "./e.ts";\n' },
  ];
  expect(findRepeatedExports(sources)).toEqual([
    "Page is exported by apiserver/a/store.ts and apiserver/b/store.ts",
  ]);
});

const HANDLERS = "handlers write by transact, change or transactAs, which confirm the caller's right";

describe("file rules", () => {
  test.each([
    ["apiserver/clusters/store.ts", 'export { x } from "./x.ts";\n', "only index.ts re-exports"],
    ["apiserver/clusters/claims.ts", 'const t = pgTable("t", {});\n', "tables stand in table.ts"],
    ["apiserver/clusters/routes.ts", "await deps.db.transaction((tx) => change(tx));\n", HANDLERS],
    ["apiserver/clusters/create-routes.ts", "await recordAudit(call.deps.db, author, entry);\n", HANDLERS],
    [
      "apiserver/clusters/read.ts",
      "return { items, next_cursor };\n",
      "pages are made by toPage, toPositionPage and cutPage, which count their bytes",
    ],
    [
      "apiserver/clusters/changes.ts",
      "await db.transaction(async (tx) => setName(tx, await findName(deps.db)));\n",
      "a transaction uses tx alone: its tenant may have no other connection left",
    ],
    ["operator/cluster/status.ts", "\n".repeat(301), "it has 301 lines, at most 300"],
  ])("refuse %s", (file, text, rule) => {
    expect(findBrokenFileRules(file, text)).toEqual([rule]);
  });

  test.each([
    ["apiserver/clusters/index.ts", 'export { x } from "./store.ts";\n'],
    ["apiserver/clusters/catalogue-routes.ts", "addRoute(router, {});\n"],
    ["apiserver/clusters/schema.ts", "const example = { items: [], next_cursor: null };\n"],
    ["apiserver/clusters/testing.ts", 'const t = pgTable("t", {});\n'],
    [
      "apiserver/clusters/changes.ts",
      "await transactAs(deps.db, caller, (tx) => set(tx));\nfind(deps.db);\n",
    ],
    ["e2e/contract/openapi/generated/client.ts", "\n".repeat(9000)],
  ])("allow %s", (file, text) => {
    expect(findBrokenFileRules(file, text)).toEqual([]);
  });
});
