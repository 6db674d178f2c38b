import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** What a caller needs to start the agent. */
export type { Config } from "./config.ts";

/** Argument: the path of the configuration file (config.ts). */
export const NODE_AGENT_ENTRY = join(import.meta.dirname, "main.ts");

/** Whether Pods can run here: their file systems need mount namespaces, which are Linux's, and root. */
export function canRunPods(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
