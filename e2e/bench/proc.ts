import { readdirSync, readFileSync } from "node:fs";
import type { Stack } from "../stack/stack.ts";

/** The kernel counts CPU time in ticks of 10 ms. */
const TICKS_PER_SECOND = 100;

/** User and system time of a process with all its threads. */
export function readCpuSeconds(pid: number): number {
  const { own } = readStat(pid);
  return own / TICKS_PER_SECOND;
}

/**
 * The same for each running process of a stack, by its name, with all its descendants, including those that have ended:
 * each Postgres connection has a process of its own.
 */
export function readStackCpuSeconds({ info }: Pick<Stack, "info">): Map<string, number> {
  const known = new Map(listProcesses().map((one) => [one.pid, one]));
  const sumOfTree = (root: number): number => {
    const isWithin = (one: Stat | undefined): boolean =>
      one !== undefined && (one.pid === root || isWithin(known.get(one.parent)));
    const tree = [...known.values()].filter(isWithin);
    return tree.reduce((sum, { own, ended }) => sum + own + ended, 0) / TICKS_PER_SECOND;
  };
  const running = Object.entries(info.processes).filter(([, { pid }]) => pid > 0);
  return new Map(running.map(([name, { pid }]) => [name, sumOfTree(pid)]));
}

/** Resident memory of a process now, and its peak, in MB. */
export function readMemoryMB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** Ticks of a process, and of its children that have ended. */
interface Stat {
  pid: number;
  parent: number;
  own: number;
  ended: number;
}

function listProcesses(): Stat[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return [readStat(Number(pid))];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** proc(5) stat: field 4 is the parent, 14 and 15 are user and system time, 16 and 17 those of ended children. */
function readStat(pid: number): Stat {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return { pid, parent: Number(fields[1]), own: user + system, ended: endedUser + endedSystem };
}
