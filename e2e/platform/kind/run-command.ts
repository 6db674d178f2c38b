import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { StartError } from "../programs/start-error.ts";
import { ROOT } from "../stack/marina.ts";
import type { Command, Outcome } from "./plan.ts";

/**
 * Runs a command in the root of the checkout and returns how it ended, also with an error. Throws StartError when it
 * is not installed.
 */
export async function runCommand({
  program,
  args,
  stdin = "",
  environment,
}: Command): Promise<Outcome & { stderr: string }> {
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...environment } });
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  // A program that ends before it has read everything closes the pipe.
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  try {
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  } catch (error) {
    throw new StartError(
      `${program} cannot be run: install it (docs/contributors/kind.md names the versions).`,
      {
        cause: error,
      },
    );
  }
}

/** The output of a command. Throws StartError with its own words when it fails. */
export async function requireCommand(command: Command): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command);
  if (code === 0) return stdout;
  const words = (stderr.trim() || stdout.trim()).split("\n").slice(-15).join("\n");
  throw new StartError(`${command.program} ${command.args.slice(0, 2).join(" ")} failed:\n${words}`);
}
