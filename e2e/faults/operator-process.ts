import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import type { StackInfo } from "../platform/stack/stack-info.ts";

/** An operator in addition to the stack's own, with other settings. */
export interface OperatorProcess {
  readonly child: ChildProcess;
  /** Signals it; resolves when it has ended, immediately for a signal that does not end it. */
  signal(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Resolves with its code when it has ended; null after a signal. */
  ended(): Promise<number | null>;
}

/** Starts an operator from the stack's environment; `settings` take precedence. Its output goes to logs/<name>.log. */
export function startOperator(
  stack: StackInfo,
  name: string,
  settings: Record<string, string>,
): OperatorProcess {
  return startProgram(stack, "operator", name, settings);
}

/** Starts either program from the stack's environment; `settings` and the log file are as for `startOperator`. */
export function startProgram(
  stack: StackInfo,
  program: "apiserver" | "operator",
  name: string,
  settings: Record<string, string>,
): OperatorProcess {
  const file = join(dirname(stack.kubeconfig), `${program}.env`);
  const { PATH = "" } = process.env;
  const log = openSync(join(stack.logs, `${name}.log`), "a");
  const child = spawn(process.execPath, [`--env-file=${file}`, `dist/${program}.js`], {
    env: { PATH, ...settings },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  async function ended(): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return child.exitCode;
  }
  return {
    child,
    async signal(signal) {
      child.kill(signal);
      if (signal === "SIGKILL" || signal === "SIGTERM") await ended();
    },
    ended,
  };
}

/** Settings of a program whose clock is this far ahead (shifted-clock.ts). */
export function shiftClock(aheadMs: number): Record<string, string> {
  const preload = join(import.meta.dirname, "shifted-clock.ts");
  return { NODE_OPTIONS: `--import=${preload}`, CLOCK_AHEAD_MS: String(aheadMs) };
}
