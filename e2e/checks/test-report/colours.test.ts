import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../platform/stack/marina.ts";
import { colourVariables } from "./colours.ts";

const ESCAPE = "\u001b[";

/** The output of a run of vitest, one test of which fails, on a pipe. */
function runPiped(variables: NodeJS.ProcessEnv): string {
  const folder = mkdtempSync(join(tmpdir(), "marina-colours-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "one.test.js"), 'test("one", () => expect({ a: 1 }).toEqual({ a: 2 }));\n');
  const { NO_COLOR: _, FORCE_COLOR: __, ...env } = process.env;
  const reporter = join(ROOT, "e2e/checks/test-report/vitest-reporter.ts");
  const args = ["run", "--root", folder, "--globals", "--reporter=default", `--reporter=${reporter}`];
  const { stdout, stderr } = spawnSync(join(ROOT, "node_modules/.bin/vitest"), args, {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...env, ...variables },
  });
  return stdout + stderr;
}

test("a run of tests writes no colours to a file or a pipe, unless they are asked for", () => {
  const plain = runPiped({});
  expect(plain).toMatch(/FAILED .*one\.test\.js > one/);
  expect(plain).not.toContain(ESCAPE);
  expect(runPiped({ FORCE_COLOR: "1" })).toContain(ESCAPE);
});

test.each([
  ["a terminal", { isTTY: true }, {}, { FORCE_COLOR: "1" }],
  ["a file", { isTTY: false }, {}, { NO_COLOR: "1" }],
  ["a terminal of a user without colours", { isTTY: true }, { NO_COLOR: "1" }, {}],
  ["a file with colours", { isTTY: false }, { FORCE_COLOR: "1" }, {}],
])("what a run starts gets the colours of %s", (_, out, env, variables) => {
  expect(colourVariables(out, env)).toEqual(variables);
});
