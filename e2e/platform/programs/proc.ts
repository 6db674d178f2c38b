import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts CPU time in ticks of 10 ms. */
export const TICKS_PER_SECOND = 100;

/** User and system time of a process with all its threads. */
export function readCpuSeconds(pid: number): number {
  const { own } = readStat(pid);
  return own / TICKS_PER_SECOND;
}

/** Resident memory of a process now, and its peak, in MB. */
export function readMemoryMB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** Ticks of a process, and of its children that have ended. */
export interface Stat {
  pid: number;
  parent: number;
  /** Opaque; with the pid it distinguishes a process from a later one with that pid. */
  startTime: string;
  own: number;
  ended: number;
}

/** All processes of this machine. */
export function listProcesses(): Stat[] {
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

/** proc(5) stat: field 4 is the parent, 14 and 15 are user and system time, 16 and 17 those of ended
 * children, 22 the start. */
function readStat(pid: number): Stat {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return {
    pid,
    parent: Number(fields[1]),
    startTime: fields[19] ?? "",
    own: user + system,
    ended: endedUser + endedSystem,
  };
}
