import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Where the benchmarks of the operator keep their run directories. */
export const BENCH_DIR = join(import.meta.dirname, "..", "..", "..", ".marina", "bench-operator");

/** Asks until it holds; throws after the deadline. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { timeoutMs = 300_000, everyMs = 250 } = {},
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await sleep(everyMs);
  }
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}

/** The value below which this share of the values lies, by nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Resident memory of a process now, and the most that it ever had, in MB. */
export function readMemoryMB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}
