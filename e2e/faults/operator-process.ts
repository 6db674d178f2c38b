import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { StackInfo } from "../platform/stack/stack-info.ts";

/** An operator in addition to the stack's own, with other settings. */
export interface OperatorProcess {
  /** Signals it; resolves when it has ended, immediately for a signal that does not end it. */
  signal(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Resolves with its code when it has ended; null after a signal. */
  ended(): Promise<number | null>;
}

const RESTART_MS = 1000;

/**
 * Starts an operator from the stack's environment; `settings` take precedence. Its output goes to logs/<name>.log.
 * Until a signal is to end it or `ended` is called, it is started again after its end, as by a kubelet: one that lost
 * its Lease exits.
 */
export function startOperator(
  stack: StackInfo,
  name: string,
  settings: Record<string, string>,
): OperatorProcess {
  let isKept = true;
  let current = startProgram(stack, "operator", name, settings);
  const keep = async (): Promise<void> => {
    while (isKept) {
      await current.ended();
      if (isKept) await sleep(RESTART_MS);
      if (isKept) current = startProgram(stack, "operator", name, settings);
    }
  };
  void keep();
  return {
    async signal(signal) {
      if (signal === "SIGKILL" || signal === "SIGTERM") isKept = false;
      await current.signal(signal);
    },
    ended() {
      isKept = false;
      return current.ended();
    },
  };
}

/** Starts either program once from the stack's environment; `settings` and the log file are as for `startOperator`. */
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
