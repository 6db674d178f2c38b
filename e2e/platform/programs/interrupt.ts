import { constants } from "node:os";
import { listProcesses, type Stat } from "./proc.ts";
import { identifyProcess, isRunning, type ProcessIdentity } from "./process-identity.ts";

/** From the first signal to SIGKILL: what is stopped holds nothing that is used again. */
const END_MS = 2000;
const POLL_MS = 50;

/**
 * From now on SIGINT, SIGTERM and SIGHUP first end all processes that this one has started, and those that they have
 * started, then this one with 128 and the number of the signal.
 */
export function endProcessesOnInterrupt(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      endDescendants();
      process.exit(128 + constants.signals[signal]);
    });
  }
}

/** Waits without the event loop, in which the caller would go on: it would start more, or end this process before. */
function endDescendants(): void {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  const known = new Map<number, ProcessIdentity>();
  const killAt = performance.now() + END_MS;
  for (;;) {
    const roots = [...known.values()].filter(isRunning).map(({ pid }) => pid);
    for (const pid of findDescendants([process.pid, ...roots])) {
      const identity = known.has(pid) ? undefined : identifyProcess(pid);
      if (identity === undefined) continue;
      known.set(pid, identity);
      end(identity, "SIGTERM");
    }
    const running = [...known.values()].filter(isRunning);
    if (running.length === 0) return;
    if (performance.now() >= killAt) for (const identity of running) end(identity, "SIGKILL");
    Atomics.wait(clock, 0, 0, POLL_MS);
  }
}

function findDescendants(roots: readonly number[]): number[] {
  const children = Map.groupBy(listProcesses(), ({ parent }) => parent);
  const below = (pid: number): Stat[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  return roots.flatMap(below).map(({ pid }) => pid);
}

function end({ pid }: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
