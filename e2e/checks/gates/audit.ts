import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { judgeAudit } from "./judge-audit.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const TIMEOUT_MS = 60_000;

/**
 * `npm run audit`: exits with 1 when a production dependency of the lockfile has a known vulnerability of severity high
 * or critical. Says so and exits with 0 when the registry does not serve advisories.
 */
const audit = ["audit", "--omit=dev", "--json"];
const { stdout } = spawnSync("npm", audit, { cwd: ROOT, encoding: "utf8", timeout: TIMEOUT_MS });
const { message, failed } = judgeAudit(stdout ?? "");
console.log(message);
if (failed) process.exitCode = 1;
