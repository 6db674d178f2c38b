import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

/** The command blocks of a page that are marked as run by this test, a path from the root of the repository. */
export function readCommands(page: string, test: string): string[] {
  return readFileSync(page, "utf8")
    .split(`<!-- run by ${test} -->\n\`\`\`sh\n`)
    .slice(1)
    .map((rest) => rest.split("\n```", 1)[0] ?? "");
}

export interface Shell {
  cwd: string;
  /** Besides nothing: a variable of the test's own is no reader's. */
  env: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
}

/** All in one shell, which a command that fails ends, as does the signal; the output of all. Rejects with its error output. */
export async function runCommands(
  blocks: readonly string[],
  { cwd, env, timeoutMs, signal }: Shell,
): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", blocks.join("\n")], {
    cwd,
    env,
    maxBuffer: 2 ** 24,
    timeout: timeoutMs,
    signal,
    // A loop that polls for what was refused ends by nothing else.
    killSignal: "SIGKILL",
  });
  return stdout;
}
