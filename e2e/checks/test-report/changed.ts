import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { colourVariables } from "./colours.ts";
import { greenInputs } from "./kept.ts";
import { digestInputs, readSources } from "./test-inputs.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const TESTS = ["{apiserver,operator,shared,e2e}/**/*.test.ts"];
/** What has another configuration, and what looks at a whole run. */
const LEFT_OUT = /^e2e\/(faults|install|contract\/(ceph|seen))\/|\.(long|extended)\.test\.ts$/;

/**
 * `npm run test:changed`: of `npm test`, the files that were not green with the same inputs. Passes its arguments on.
 */
function main(): number {
  const files = globSync(TESTS, { cwd: ROOT }).filter((file) => !LEFT_OUT.test(file));
  const sources = readSources(ROOT);
  if (sources === undefined) throw new Error(`${ROOT} is no checkout of git`);
  const digests = digestInputs(files, sources);
  const green = greenInputs.read();
  const due = files.filter((file) => green[file] !== digests.get(file));
  console.log(
    `${due.length} of ${files.length} test files changed, or what they depend on, since they were green`,
  );
  if (due.length === 0) return 0;
  const env = { ...process.env, ...colourVariables(process.stdout, process.env) };
  const { status } = spawnSync("vitest", ["run", ...process.argv.slice(2), ...due], {
    stdio: "inherit",
    env,
  });
  return status ?? 1;
}

process.exitCode = main();
