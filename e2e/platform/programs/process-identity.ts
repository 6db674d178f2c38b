import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Identifies one process: a pid alone is reused, a pid with its start time is not. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
}

function readProcStartTime(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // proc(5): the name in parentheses may hold spaces. Field 3 is the state, 20 the number of threads, 22 the start
  // time in ticks. A zombie with other threads still holds its ports.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" && fields[17] === "1") return undefined;
  return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${fields[19] ?? ""}`;
}

function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** The start time of a running process, an opaque string for comparison; undefined when there is no such process. */
export function readStartTime(pid: number): string | undefined {
  try {
    if (process.platform === "linux") return readProcStartTime(pid);
    const out = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return out === "" ? undefined : out;
  } catch {
    return undefined;
  }
}

/** The identity of a running process; undefined when it has ended. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = readStartTime(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether this process still runs (and not another one with the same pid). */
export function isRunning(identity: ProcessIdentity): boolean {
  return readStartTime(identity.pid) === identity.startTime;
}

/** Signals the process group whose leader is `pid`; a group that has ended is not an error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!hasErrorCode(error, "ESRCH")) throw error;
  }
}
