import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeDocument } from "../openapi/document.ts";
import { ensureOpenApiTools } from "../openapi/tools.ts";
import { type Client, runCommand } from "./client.ts";

const SOURCE = join(import.meta.dirname, "hey-api");

/** The TypeScript client of hey-api, type-checked together with the program that imports it. */
export const heyApi: Client = {
  name: "hey-api",
  async prepare(folder) {
    const modules = await ensureOpenApiTools();
    for (const file of ["tsconfig.json", "story.ts"]) copyFileSync(join(SOURCE, file), join(folder, file));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const generator = join(modules, "@hey-api", "openapi-ts", "bin", "run.js");
    // By itself it looks for a tsconfig.json next to where it is installed.
    const config = { input: writeDocument(), output: { path: "client", module: { extension: ".js" } } };
    writeFileSync(join(folder, "openapi-ts.config.json"), JSON.stringify(config));
    const options = ["--file", "openapi-ts.config.json", "--no-log-file", "--silent"];
    await runCommand(process.execPath, [generator, ...options], { cwd: folder });
    await runCommand(process.execPath, [join(modules, "typescript", "bin", "tsc"), "-p", "."], {
      cwd: folder,
    });
    return { command: process.execPath, args: [join(folder, "out", "story.js")] };
  },
};
