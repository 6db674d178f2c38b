import { spawn } from "node:child_process";
import { once } from "node:events";

/** How a generated client's program is started. */
export interface Program {
  command: string;
  args: readonly string[];
  /** Variables in addition to MARINA_URL and MARINA_TOKEN. */
  env?: Readonly<Record<string, string>>;
}

/** A generator of clients: makes a client of the document, and a program that uses it. */
export interface Client {
  /** As `--client` selects it. */
  name: string;
  /** Generates and compiles in an empty folder. Rejects where either fails. */
  prepare(folder: string): Promise<Program>;
}

/** Runs a command with its output to ours. Rejects unless it exits with 0. */
export async function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const options = {
    stdio: "inherit" as const,
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  };
  const [code] = (await once(spawn(command, args, options), "exit")) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
}
