import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { PINNED_DIR } from "../../platform/stack/go-module.ts";
import { ensureGoTool } from "../../platform/stack/go-tool.ts";
import { writeDocument } from "../openapi/document.ts";
import { type Client, runCommand } from "./client.ts";
import { PROGRAMS } from "./openapi-generator.ts";

const MODULE = join(import.meta.dirname, "oapi-codegen");
const GENERATOR = {
  name: "oapi-codegen",
  moduleDir: PINNED_DIR,
  module: "github.com/oapi-codegen/oapi-codegen/v2",
  goPackage: "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen",
};
const ENV = { GOFLAGS: "-mod=mod -buildvcs=false", GOWORK: "off", CGO_ENABLED: "0" };

/** The Go client of oapi-codegen, vetted and compiled with the program that imports it. */
export const oapiCodegen: Client = {
  name: "oapi-codegen",
  async prepare(folder) {
    const generator = await ensureGoTool(GENERATOR);
    const library = join(folder, "client");
    mkdirSync(library);
    // Without skip-prune it leaves out schemas that only the requests of webhooks have.
    const options = ["-generate", "types,client,skip-prune", "-package", "client"];
    await runCommand(generator, [...options, "-o", join(library, "client.go"), writeDocument()]);
    for (const file of ["go.mod", "go.sum"]) copyFileSync(join(MODULE, file), join(folder, file));
    copyFileSync(join(PROGRAMS, "story_oapi_codegen.go"), join(folder, "main.go"));
    await runCommand("go", ["vet", "./..."], { cwd: folder, env: ENV });
    await runCommand("go", ["build", "-o", "story", "."], { cwd: folder, env: ENV });
    return { command: join(folder, "story"), args: [] };
  },
};
