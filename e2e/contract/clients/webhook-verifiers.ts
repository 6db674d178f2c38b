import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePythonPackages } from "../../platform/stack/python.ts";
import { type Client, runCommand } from "./client.ts";
import { PROGRAMS } from "./openapi-generator.ts";

const GO_MOD =
  "module marina\n\ngo 1.26\n\nrequire github.com/standard-webhooks/standard-webhooks/libraries v0.0.1\n";

/** The public Go library of Standard Webhooks verifies deliveries of the stack. */
export const goWebhooks: Client = {
  name: "go-webhooks",
  async prepare(folder) {
    writeFileSync(join(folder, "go.mod"), GO_MOD);
    copyFileSync(join(PROGRAMS, "verify-webhooks.go"), join(folder, "main.go"));
    const env = { GOFLAGS: "-mod=mod -buildvcs=false", GOWORK: "off", CGO_ENABLED: "0" };
    await runCommand("go", ["build", "-o", "verify", "."], { cwd: folder, env });
    return { command: join(folder, "verify"), args: [] };
  },
};

/** The public Python library of Standard Webhooks does. */
export const pythonWebhooks: Client = {
  name: "python-webhooks",
  async prepare() {
    const programs = await ensurePythonPackages("standardwebhooks-python-1", ["standardwebhooks==1.1.0"]);
    return { command: join(programs, "python"), args: [join(PROGRAMS, "verify-webhooks.py")] };
  },
};
