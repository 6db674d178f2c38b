import { join } from "node:path";
import { type Client, runCommand } from "./client.ts";
import { PROGRAMS } from "./openapi-generator.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const GENERATE = join(ROOT, "e2e", "contract", "openapi", "generate-client.ts");

/** The types of openapi-typescript, which all of e2e is compiled with. */
export const openapiTypescript: Client = {
  name: "openapi-typescript",
  async prepare() {
    await runCommand(process.execPath, [GENERATE], { cwd: ROOT });
    await runCommand(join(ROOT, "node_modules", ".bin", "tsc"), ["-p", ROOT]);
    return { command: process.execPath, args: [join(PROGRAMS, "story.ts")] };
  },
};
