import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensurePythonPackages } from "../platform/stack/python.ts";

const run = promisify(execFile);
/** The official Kubernetes client on PyPI. */
const VERSION = "37.0.2";

/**
 * A Python with the official Kubernetes client, in a virtual environment created at the first use. Returns the path of
 * its interpreter; undefined where there is no Python, or no package index to install from.
 */
export async function preparePythonClient(): Promise<string | undefined> {
  try {
    const programs = await ensurePythonPackages(`kubernetes-python-${VERSION}`, [`kubernetes==${VERSION}`]);
    return join(programs, "python");
  } catch {
    return undefined;
  }
}

/** Runs a program; rejects with its error output when it fails. */
export async function runPython(python: string, program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(python, ["-c", program, ...args]);
  return stdout;
}
