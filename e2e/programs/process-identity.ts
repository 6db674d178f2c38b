import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Names one process for good: a pid alone is given again, with its start time it is not. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
}

function readProcStartTime(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // proc(5): the name in parentheses may hold spaces. Field 3 is the state, 20 the number of threads, 22 the start
  // time in ticks. A zombie whose other threads still end holds its ports yet.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" && fields[17] === "1") return undefined;
  return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${fields[19] ?? ""}`;
}

function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** The start time of a running process, in a form that only serves for comparison; undefined when there is none. */
export function readStartTime(pid: number): string | undefined {
  try {
    if (process.platform === "linux") return readProcStartTime(pid);
    const out = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return out === "" ? undefined : out;
  } catch {
    return undefined;
  }
}

/** The identity of a live process; undefined when it has ended meanwhile. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = readStartTime(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether exactly this process still runs (not another one that was given its pid). */
export function isRunning(identity: ProcessIdentity): boolean {
  return readStartTime(identity.pid) === identity.startTime;
}

/** Signals a whole process group, whose leader is `pid`; a group that has ended is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!hasErrorCode(error, "ESRCH")) throw error;
  }
}
