import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

const root = join(import.meta.dirname, "..");
const copy = mkdtempSync(join(realpathSync(tmpdir()), "marina-new-slice-"));
const SCRIPTS = ["build.ts", "image.ts", "release.ts", "release-layers.ts"];
const COPIED = ["apiserver", "operator", "shared", "e2e", "charts", "crds", "docs", ...SCRIPTS];
const CONFIG = ["package.json", "tsconfig.json", "biome.json", "vitest.config.ts", ".gitignore", "README.md"];
/** The tests that write tables of documents. */
const WRITTEN_BY = ["apiserver/request-bounds.test.ts", "apiserver/documented-tables.test.ts"];
/** The stack that runs serves the copy as well; nothing else of this run reaches the run inside. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|MARINA_|NODE_OPTIONS)/.test(name)),
  ),
  MARINA_STACK: inject("stackJson"),
};

/** Runs a program of node_modules in the copy. Throws with its output when it fails. */
function run(program: string, ...args: string[]): string {
  try {
    const file = join(copy, "node_modules", ".bin", program);
    return execFileSync(file, args, { cwd: copy, encoding: "utf8", env, stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}\n${stderr}`);
  }
}

/** Writes the files of docs/contributors/new-slice.md, and adds its lines to the files that it names. */
function followThePage(): void {
  const page = readFileSync(join(root, "docs", "contributors", "new-slice.md"), "utf8");
  for (const [, name = "", anchor, text = ""] of page.matchAll(
    /^```(?:ts|text) (\S+)(?: after (.+))?\n([\s\S]*?)^```$/gm,
  )) {
    const file = join(copy, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, anchor === undefined ? text : insertAfter(readFileSync(file, "utf8"), anchor, text));
  }
}

/** Inserts the lines below the line that has the anchor, with its indentation. */
function insertAfter(source: string, anchor: string, text: string): string {
  const lines = source.split("\n");
  const index = lines.findIndex((line) => line.includes(anchor));
  const [indentation] = /^ */.exec(lines[index] ?? "") ?? [];
  if (index < 0 || indentation === undefined) throw new Error(`no line has ${anchor}`);
  const added = text.trimEnd().split("\n");
  return lines.toSpliced(index + 1, 0, ...added.map((line) => `${indentation}${line}`)).join("\n");
}

describe("a slice that is added by docs/contributors/new-slice.md", () => {
  beforeAll(() => {
    for (const name of [...COPIED, ...CONFIG])
      cpSync(join(root, name), join(copy, name), { recursive: true, dereference: true });
    symlinkSync(realpathSync(join(root, "node_modules")), join(copy, "node_modules"));
    followThePage();
    run("node", "apiserver/db/next-migration.ts", "notes");
    run("vitest", "run", "--project", "unit", ...WRITTEN_BY, "-u");
    run("node", "e2e/contract/openapi/generate-client.ts");
  });

  afterAll(() => rmSync(copy, { recursive: true }));

  test("is formatted and compiles", () => {
    const files = ["apiserver", "e2e/checks/architecture"];
    expect(() => run("biome", "check", "--vcs-enabled=false", ...files)).not.toThrow();
    expect(run("tsc", "-p", ".")).toBe("");
  });

  test("keeps to the import rules, and each of its operations has a row in the security table", () => {
    const files = ["e2e/checks/architecture", "apiserver/security.test.ts", ...WRITTEN_BY];
    const output = run("vitest", "run", "--project", "unit", ...files);
    expect(output).toContain("6 passed");
  });

  test("has its operations in the OpenAPI document", () => {
    const { paths } = JSON.parse(
      readFileSync(join(copy, "e2e/contract/openapi/generated/openapi.json"), "utf8"),
    );
    expect(Object.keys(paths["/api/v1/organizations/{orgID}/notes"])).toEqual(["post", "get"]);
    expect(Object.keys(paths["/api/v1/organizations/{orgID}/notes/{noteID}"])).toEqual(["get", "put"]);
  });

  test("passes its own test, which finds its record in the audit log, and the common tests of all operations", () => {
    const files = ["apiserver/notes", "apiserver/http/contract/operations"];
    const output = run("vitest", "run", "--project", "integration", ...files, "-t", "[nN]ote");
    expect(output).toContain("2 passed");
  });

  test("has a record in the tests that keep organizations apart", () => {
    const output = run("vitest", "run", "--project", "integration", "apiserver/security-isolation");
    expect(output).toContain("1 passed");
  });
});
