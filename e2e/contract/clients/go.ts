import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, runCommand } from "./client.ts";
import { generateClient, PROGRAMS } from "./openapi-generator.ts";

const GO_MOD = "module marina\n\ngo 1.26\n\nrequire gopkg.in/validator.v2 v2.0.1\n";

/** The module is that of the program, and the tests are stubs to be filled in. */
const IGNORED = "go.mod\ngo.sum\ntest/**\n";

/** openapi-generator's Go client, vetted and compiled with the program that imports it. */
export const go: Client = {
  name: "go",
  async prepare(folder) {
    const library = join(folder, "client");
    mkdirSync(library);
    writeFileSync(join(library, ".openapi-generator-ignore"), IGNORED);
    await generateClient("go", library, ["--package-name", "client"]);
    writeFileSync(join(folder, "go.mod"), GO_MOD);
    copyFileSync(join(PROGRAMS, "story.go"), join(folder, "main.go"));
    const env = { GOFLAGS: "-mod=mod -buildvcs=false", GOWORK: "off", CGO_ENABLED: "0" };
    await runCommand("go", ["vet", "./..."], { cwd: folder, env });
    await runCommand("go", ["build", "-o", "story", "."], { cwd: folder, env });
    return { command: join(folder, "story"), args: [] };
  },
};
