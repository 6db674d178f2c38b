import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../shared/program/log.ts";
import { cleanEnvironment } from "../programs/environment.ts";
import {
  identifyProcess,
  isRunning,
  type ProcessIdentity,
  signalGroup,
} from "../programs/process-identity.ts";
import { rotateLog } from "./log-rotation.ts";

/** One program of a tenant cluster. */
export interface ProgramSpec {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  log: string;
  /** The version that runs; kept across a restart of the provider. */
  version: string;
}

/** The state of a program that was started. */
export interface ProgramState {
  pid: number;
  running: boolean;
  version: string;
  /** Hash of the spec that it was started with. */
  specHash: string;
  /** Consecutive failures soon after the start, and the backoff before the next start. */
  failures: number;
  retryInMs: number;
  /** Order of the starts: a higher number was started later. */
  startNumber: number;
}

export interface Processes {
  get(name: string): ProgramState | undefined;
  names(): string[];
  /** Starts a program. Throws when it is already running. */
  start(name: string, spec: ProgramSpec): void;
  /** Stops a program and removes its record. SIGKILL follows after 2.5 s. */
  stop(name: string, signal?: NodeJS.Signals): Promise<void>;
  stopAll(): Promise<void>;
  close(): void;
}

export interface ProcessesOptions {
  /** Holds one record per process, in the format that the stack's supervisor uses to clean up. */
  recordsDir: string;
  /** Called when a program has ended unexpectedly. */
  onExit: (name: string) => void;
  log: Logger;
}

interface Entry {
  identity: ProcessIdentity | undefined;
  startNumber: number;
  specHash: string;
  version: string;
  logFile: string;
  startedAt: number;
  failures: number;
  endedAt: number;
}

type Kept = ProcessIdentity & { startNumber: number; specHash: string; version: string; logFile: string };

const RECORD_PREFIX = "tenant~";
const POLL_MS = 1000;
const STEADY_AFTER_MS = 60_000;
const BACKOFF_CAP_MS = 30_000;
const STOP_TIMEOUT_MS = 2500;

/** Hash of everything whose change requires a restart. */
export function hashOfSpec({ command, args, env }: ProgramSpec): string {
  return createHash("sha256")
    .update(JSON.stringify([command, args, env]))
    .digest("hex")
    .slice(0, 16);
}

/** Backoff after `failures` consecutive failures: 1 s doubling to 30 s. */
export function backoffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(BACKOFF_CAP_MS, 1000 * 2 ** (failures - 1));
}

function spawnDetached(spec: ProgramSpec): number | undefined {
  mkdirSync(dirname(spec.log), { recursive: true });
  const output = openSync(spec.log, "a");
  try {
    const stdio = ["ignore", output, output] as const;
    // A separate process group and no pipe: it survives this process.
    const child = spawn(spec.command, spec.args, {
      env: cleanEnvironment(spec.env),
      stdio: [...stdio],
      detached: true,
    });
    // Without a handler a failed spawn would end the provider; the missing pid reports it.
    child.on("error", (error) => writeFileSync(spec.log, `${error.message}\n`, { flag: "a" }));
    child.unref();
    return child.pid;
  } finally {
    closeSync(output);
  }
}

/** Runs the programs of all tenants, and adopts those that an earlier provider left running. */
export function openProcesses({ recordsDir, onExit, log }: ProcessesOptions): Processes {
  const entries = new Map<string, Entry>();
  const fileOf = (name: string): string => join(recordsDir, `${RECORD_PREFIX}${name}.json`);

  function adopt(): void {
    mkdirSync(recordsDir, { recursive: true });
    for (const file of readdirSync(recordsDir)) {
      if (!file.startsWith(RECORD_PREFIX)) continue;
      const name = file.slice(RECORD_PREFIX.length, -".json".length);
      const text = readFileSync(join(recordsDir, file), "utf8");
      const kept: Kept | undefined = text.endsWith("}") ? JSON.parse(text) : undefined;
      if (kept === undefined || !isRunning(kept)) {
        rmSync(join(recordsDir, file), { force: true });
        continue;
      }
      const { pid, startTime, startNumber, specHash, version, logFile } = kept;
      const entry = { identity: { pid, startTime }, startNumber, specHash, version, logFile };
      entries.set(name, { ...entry, startedAt: 0, failures: 0, endedAt: 0 });
      log.info({ process: name, pid }, "adopted");
    }
  }

  /** Higher than that of every running program, also of an earlier provider. Not a timestamp: clocks can go back. */
  function nextStartNumber(): number {
    return 1 + Math.max(0, ...[...entries.values()].map(({ startNumber }) => startNumber));
  }

  function noteExit(name: string, entry: Entry): void {
    const now = performance.now();
    entry.identity = undefined;
    entry.endedAt = now;
    entry.failures = now - entry.startedAt < STEADY_AFTER_MS ? entry.failures + 1 : 1;
    rmSync(fileOf(name), { force: true });
    log.warn({ process: name, failures: entry.failures }, "a tenant process ended unexpectedly");
    onExit(name);
  }

  function poll(): void {
    for (const [name, entry] of entries) {
      if (entry.identity === undefined) continue;
      if (!isRunning(entry.identity)) noteExit(name, entry);
      else rotateLog(entry.logFile);
    }
  }

  adopt();
  const timer = setInterval(poll, POLL_MS);
  return {
    get(name) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      const { identity, version, specHash, failures, endedAt, startNumber } = entry;
      const waited = performance.now() - endedAt;
      return {
        pid: identity?.pid ?? 0,
        running: identity !== undefined && isRunning(identity),
        version,
        specHash,
        failures,
        retryInMs: identity === undefined ? Math.max(0, backoffMs(failures) - waited) : 0,
        startNumber,
      };
    },
    names: () => [...entries.keys()],
    start(name, spec) {
      const known = entries.get(name);
      if (known?.identity !== undefined && isRunning(known.identity))
        throw new Error(`${name} is already running`);
      const pid = spawnDetached(spec);
      const identity = pid === undefined ? undefined : identifyProcess(pid);
      const specHash = hashOfSpec(spec);
      const now = performance.now();
      const failures = known?.failures ?? 0;
      const startNumber = nextStartNumber();
      const entry = {
        identity,
        startNumber,
        specHash,
        version: spec.version,
        logFile: spec.log,
        startedAt: now,
        failures,
        endedAt: now,
      };
      entries.set(name, entry);
      if (identity === undefined) return noteExit(name, entry);
      const record = {
        ...identity,
        stopSignal: "SIGKILL",
        startNumber,
        specHash,
        version: spec.version,
        logFile: spec.log,
      };
      try {
        writeFileSync(fileOf(name), JSON.stringify(record));
      } catch (error) {
        // Without a record (a full disk) nothing would ever end it.
        signalGroup(identity.pid, "SIGKILL");
        throw error;
      }
    },
    async stop(name, signal = "SIGKILL") {
      const identity = entries.get(name)?.identity;
      // Removed first, so that its end does not count as a failure.
      entries.delete(name);
      if (identity !== undefined && isRunning(identity)) {
        signalGroup(identity.pid, signal);
        const killDeadline = performance.now() + STOP_TIMEOUT_MS;
        while (isRunning(identity)) {
          if (performance.now() > killDeadline) signalGroup(identity.pid, "SIGKILL");
          await sleep(20);
        }
      }
      rmSync(fileOf(name), { force: true });
    },
    async stopAll() {
      await Promise.all([...entries.keys()].map((name) => this.stop(name)));
    },
    close: () => clearInterval(timer),
  };
}
