import { readFileSync } from "node:fs";

/** The kernel counts CPU time in ticks of 10 ms. */
const TICK_MICROSECONDS = 10_000;

/** User and system time of a process with all its threads: fields 14 and 15 of proc(5) stat. */
export function readCpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
}

/** The memory of a process that is in RAM now. */
export function readResidentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
