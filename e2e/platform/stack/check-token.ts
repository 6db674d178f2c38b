import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readOptions } from "../programs/options.ts";
import { StartError } from "../programs/start-error.ts";

/**
 * `npm run -s token -- alice | npm run -s token:check`: says what the API server of the running stack makes of a token.
 */
function main(): void {
  const root = join(import.meta.dirname, "..", "..", "..");
  const { values } = readOptions({ options: { dir: { type: "string", default: join(root, ".marina") } } });
  const environment = join(values.dir, "apiserver.env");
  if (!existsSync(environment)) throw new StartError(`No stack is in ${values.dir}: run npm start first.`);
  const program = join(root, "apiserver", "main.ts");
  const { status } = spawnSync(process.execPath, [`--env-file=${environment}`, program, "check-token"], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}

try {
  main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
