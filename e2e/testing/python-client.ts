import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** The official Kubernetes client on PyPI. */
const VERSION = "37.0.2";
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "marina");
const INSTALL_TIMEOUT_MS = 120_000;

/**
 * A Python with the official Kubernetes client, in a virtual environment created at the first use. Returns the path of its
 * interpreter; undefined where there is no Python, or no package index to install from.
 */
export async function preparePythonClient(): Promise<string | undefined> {
  const home = join(CACHE, `kubernetes-python-${VERSION}`);
  const python = join(home, "bin", "python");
  const complete = join(home, "complete");
  if (existsSync(complete)) return python;
  mkdirSync(CACHE, { recursive: true });
  try {
    await run("python3", ["-m", "venv", "--clear", home]);
    const pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", `kubernetes==${VERSION}`];
    await run(python, pip, { timeout: INSTALL_TIMEOUT_MS });
  } catch {
    return undefined;
  }
  writeFileSync(complete, "");
  return python;
}

/** Runs a program; rejects with its error output when it fails. */
export async function runPython(python: string, program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(python, ["-c", program, ...args]);
  return stdout;
}
