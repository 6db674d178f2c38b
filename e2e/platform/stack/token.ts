import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions } from "../programs/options.ts";
import { StartError } from "../programs/start-error.ts";
import { requestToken } from "./identity.ts";
import { ensureSecrets } from "./secrets.ts";
import type { StackInfo } from "./stack-info.ts";
import { isUserName, USER_NAMES } from "./users.ts";

/** `npm run -s token -- alice`: prints a fresh access token of a user of the running stack, valid for 12 hours. */
async function main(): Promise<void> {
  const defaultDir = join(import.meta.dirname, "..", "..", "..", ".marina");
  const { values, positionals } = readOptions({
    options: { dir: { type: "string", default: defaultDir } },
    allowPositionals: true,
  });
  const [user] = positionals;
  if (!isUserName(user)) throw new StartError(`usage: npm run -s token -- <${USER_NAMES.join("|")}>`);
  const file = join(values.dir, "stack.json");
  if (!existsSync(file)) throw new StartError(`No stack runs in ${values.dir}: run npm start first.`);
  const info: StackInfo = JSON.parse(readFileSync(file, "utf8"));
  const { clientSecret } = await ensureSecrets(values.dir);
  process.stdout.write(`${await requestToken(info.issuer, user, clientSecret)}\n`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
