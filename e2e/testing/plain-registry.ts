import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { findFreePort } from "../platform/programs/free-port.ts";
import { ensureGoTool } from "../platform/stack/go-tool.ts";
import { REGISTRY } from "../platform/stack/registry.ts";
import { waitFor } from "../platform/stack/testing.ts";

export interface PlainRegistry {
  /** Host and port. It answers over http, to everybody. */
  host: string;
  close(): Promise<void>;
}

/** Starts a registry of its own that keeps what it gets in this folder. Resolves when it answers. */
export async function startPlainRegistry(folder: string): Promise<PlainRegistry> {
  const port = await findFreePort();
  const host = `localhost:${port}`;
  const config = {
    version: 0.1,
    log: { level: "warn" },
    storage: { filesystem: { rootdirectory: join(folder, "registry") } },
    http: { addr: `127.0.0.1:${port}` },
  };
  writeFileSync(join(folder, "registry.yaml"), stringify(config));
  // It stands still once nobody reads what it prints.
  const settings = { env: { ...process.env, OTEL_TRACES_EXPORTER: "none" }, stdio: "ignore" } as const;
  const child = spawn(await ensureGoTool(REGISTRY), ["serve", join(folder, "registry.yaml")], settings);
  await waitFor("the registry", () => fetch(`http://${host}/v2/`));
  return {
    host,
    async close() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
