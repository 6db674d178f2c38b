import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseEnv } from "node:util";
import { cleanEnvironment } from "../platform/programs/environment.ts";
import { MEMORY_ENVIRONMENT, runBundle } from "../platform/stack/marina.ts";
import { waitFor } from "../platform/stack/testing.ts";

/** Another replica of the stack's API server, on a separate port. */
export interface SecondApiserver {
  url: string;
  /** Sends it a signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  exited: Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts it with the stack's configuration and `settings` on top; resolves when it is ready. */
export async function startSecondApiserver(
  dir: string,
  settings: Record<string, string> = {},
): Promise<SecondApiserver> {
  const environment = parseEnv(readFileSync(join(dir, "apiserver.env"), "utf8")) as Record<string, string>;
  const { command, args } = runBundle("apiserver");
  const ports = { MARINA_PORT: "0", MARINA_METRICS_PORT: "0" };
  const child = spawn(command, args, {
    env: cleanEnvironment({ ...environment, ...MEMORY_ENVIRONMENT, ...settings, ...ports }),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let url = "";
  let readyUrl = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.includes('"listening"')) return;
    const { address, metricsPort } = JSON.parse(line);
    url = address;
    readyUrl = `http://127.0.0.1:${metricsPort}/readyz`;
  });
  await waitFor("the second API server", async () => readyUrl !== "" && (await fetch(readyUrl)).ok);
  return {
    url,
    signal: (signal) => void child.kill(signal),
    exited,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
