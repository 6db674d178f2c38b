import { ExplainedError } from "./errors.ts";
import type { Logger } from "./log.ts";

/** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function stopOnSignals(log: Logger): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(1);
      log.info({ signal: name }, "draining");
      controller.abort();
    });
  }
  return controller.signal;
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Writes why a program could not start or go on to standard error, and makes its exit code 1. */
export function reportFatalError(error: unknown): void {
  const text =
    error instanceof ExplainedError ? error.message : String(error instanceof Error ? error.stack : error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
