import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DOCUMENT_FILE } from "./document.ts";
import { ensureOpenApiTools } from "./tools.ts";

const CLIENT = join(import.meta.dirname, "client.ts");

/** Writes the TypeScript types of the committed document; with `--check`, exits with 1 where they are stale. */
const check = process.argv.includes("--check");
const command = join(await ensureOpenApiTools(), ".bin", "openapi-typescript");
// A field with a default may be left out of a request.
const options = ["--output", CLIENT, "--default-non-nullable", "false", ...(check ? ["--check"] : [])];
const child = spawn(command, [DOCUMENT_FILE, ...options], { stdio: ["ignore", "ignore", "inherit"] });
const [code] = (await once(child, "close")) as [number | null];
if (code !== 0) {
  if (check) process.stderr.write("e2e/openapi/client.ts is stale: run npm run generate.\n");
  process.exitCode = 1;
}
