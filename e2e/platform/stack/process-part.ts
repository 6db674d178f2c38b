import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../shared/program/errors.ts";
import { cleanEnvironment } from "../programs/environment.ts";
import { identifyProcess, signalGroup } from "../programs/process-identity.ts";
import { StartError } from "../programs/start-error.ts";

/** How to run one program, and how to check that it is ready. */
export interface ProcessSpec {
  command: string;
  args: readonly string[];
  /** Added to a clean environment: only a few variables are inherited (cleanEnvironment). */
  env?: Record<string, string>;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** Throws while the program is not ready; called every 50 ms until the deadline. */
  probe: () => Promise<void>;
  deadlineMs?: number;
  /** Default SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Time until SIGKILL; default 3000. */
  stopTimeoutMs?: number;
  /** Started again when it exits by itself, as a kubelet does: the operator ends when it loses its Lease. */
  restarts?: boolean;
  /** It does not end by itself once a program that it needs has ended. */
  waitsForOthers?: boolean;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A supervised program. */
export interface Part {
  readonly name: string;
  /** The pid of the running process, 0 when it is down. */
  readonly pid: number;
  readonly log: string;
  /** Resolves when the current process has ended. */
  readonly exited: Promise<Exit>;
  /** Starts the process; resolves when it is ready. */
  start(): Promise<void>;
  /** Signals its process group (default SIGKILL) and waits for its end; this does not count as a crash. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
  /** Signals it when all parts end at once and none can be waited for. */
  endWithOthers(): void;
  /** Sends the stop signal, and SIGKILL after the timeout. */
  stop(): Promise<void>;
}

export interface PartContext {
  dir: string;
  signal: AbortSignal;
  onChange: () => void;
  onCrash: (part: Part, exit: Exit) => void;
}

const PROBE_INTERVAL_MS = 50;
/** Deadline for a program that hangs: one that ends is noticed at once, and a slow machine takes a minute. */
const READY_DEADLINE_MS = 180_000;
const TAIL_LINES = 25;

/** The last lines of a log file, indented for a terminal. */
export function tailOf(log: string): string {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n").slice(-TAIL_LINES);
  return `last lines of ${log}:\n${lines.map((line) => `    ${line.slice(0, 400)}`).join("\n")}`;
}

/** "code 1" or "signal SIGKILL". */
export function describeExit(exit: Exit): string {
  return exit.signal === null ? `code ${exit.code ?? "unknown"}` : `signal ${exit.signal}`;
}

function spawnInOwnGroup(spec: ProcessSpec, log: string): ChildProcess {
  const output = openSync(log, "a");
  try {
    return spawn(spec.command, spec.args, {
      env: cleanEnvironment(spec.env ?? {}),
      stdio: ["ignore", output, output],
      // A separate process group: Ctrl-C must reach only the supervisor, which then stops parts in order.
      detached: true,
      ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
      ...(spec.uid === undefined ? {} : { uid: spec.uid }),
      ...(spec.gid === undefined ? {} : { gid: spec.gid }),
    });
  } finally {
    closeSync(output);
  }
}

/** One process of a part. */
interface Run {
  child: ChildProcess;
  exited: Promise<Exit>;
  ended: boolean;
  /** A stop was requested: its end is not a crash. */
  expected: boolean;
  /** Once it is ready, its end is a crash; before, its end fails the start. */
  ready: boolean;
}

interface Files {
  log: string;
  record: string;
}

function launch(spec: ProcessSpec, files: Files, onEnd: (run: Run, exit: Exit) => void): Run {
  const child = spawnInOwnGroup(spec, files.log);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  if (identity !== undefined) {
    const stopSignal = spec.stopSignal ?? "SIGTERM";
    writeFileSync(files.record, JSON.stringify({ ...identity, stopSignal }));
  }
  const { promise, resolve } = Promise.withResolvers<Exit>();
  const run: Run = { child, exited: promise, ended: false, expected: false, ready: false };
  const end = (exit: Exit): void => {
    if (run.ended) return;
    run.ended = true;
    rmSync(files.record, { force: true });
    resolve(exit);
    onEnd(run, exit);
  };
  child.once("exit", (code, signal) => end({ code, signal }));
  child.once("error", (error) => {
    appendFileSync(files.log, `cannot run ${spec.command}: ${error.message}\n`);
    end({ code: null, signal: null });
  });
  return run;
}

async function failureOf(name: string, run: Run, log: string): Promise<StartError> {
  return new StartError(
    `${name} ended (${describeExit(await run.exited)}) before it was ready; ${tailOf(log)}`,
  );
}

async function waitUntilReady(name: string, spec: ProcessSpec, run: Run, log: string, signal: AbortSignal) {
  const { deadlineMs = READY_DEADLINE_MS } = spec;
  const deadline = Date.now() + deadlineMs;
  let last = "";
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    if (run.ended) throw await failureOf(name, run, log);
    try {
      await spec.probe();
      // It may have ended after the probe, while its end does not count as a crash yet.
      if (run.ended) throw await failureOf(name, run, log);
      run.ready = true;
      return;
    } catch (error) {
      last = messageOf(error);
    }
    await Promise.race([sleep(PROBE_INTERVAL_MS), run.exited]);
  }
  throw new StartError(`${name} was not ready after ${deadlineMs / 1000} s (${last}); ${tailOf(log)}`);
}

function signalRun(run: Run | undefined, signal: NodeJS.Signals): void {
  if (run === undefined) return;
  run.expected = true;
  if (!run.ended && run.child.pid !== undefined) signalGroup(run.child.pid, signal);
}

const NEVER_RAN: Exit = { code: null, signal: null };

/**
 * Creates a part without starting it. While its process runs, `<dir>/processes/<name>.json` holds its
 * identity, so that a later supervisor can end it if this one is killed.
 */
export function createPart(name: string, spec: ProcessSpec, context: PartContext): Part {
  const log = join(context.dir, "logs", `${name}.log`);
  const record = join(context.dir, "processes", `${name}.json`);
  let run: Run | undefined;
  const onEnd = (ended: Run, exit: Exit): void => {
    context.onChange();
    if (!ended.ready || ended.expected) return;
    const restarts = spec.restarts === true && exit.code !== null && !context.signal.aborted;
    if (restarts) part.start().catch(() => context.onCrash(part, exit));
    else context.onCrash(part, exit);
  };
  const part: Part = {
    name,
    log,
    get pid() {
      return run === undefined || run.ended ? 0 : (run.child.pid ?? 0);
    },
    get exited() {
      return run?.exited ?? Promise.resolve(NEVER_RAN);
    },
    async start() {
      if (run?.ended === false) throw new Error(`${name} is already running`);
      run = launch(spec, { log, record }, onEnd);
      context.onChange();
      await waitUntilReady(name, spec, run, log, context.signal);
    },
    async kill(signal = "SIGKILL") {
      signalRun(run, signal);
      return part.exited;
    },
    endWithOthers() {
      signalRun(run, spec.waitsForOthers === true ? "SIGKILL" : (spec.stopSignal ?? "SIGTERM"));
    },
    async stop() {
      signalRun(run, spec.stopSignal ?? "SIGTERM");
      const timer = setTimeout(() => signalRun(run, "SIGKILL"), spec.stopTimeoutMs ?? 3000);
      await part.exited;
      clearTimeout(timer);
    },
  };
  return part;
}
