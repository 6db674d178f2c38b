import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess, signalGroup } from "./process-identity.ts";
import { messageOf, StartError } from "./start-error.ts";

/** How to run one program and how to see that it is ready. */
export interface ProcessSpec {
  command: string;
  args: readonly string[];
  /** Added to a clean environment: nothing but PATH, HOME, LANG, TZ and TMPDIR is inherited. */
  env?: Record<string, string>;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** Throws while the program is not ready; asked every 50 ms until the deadline. */
  probe: () => Promise<void>;
  deadlineMs: number;
  /** The signal that asks it to end; default SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** After this long SIGKILL follows; default 3000. */
  stopTimeoutMs?: number;
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
  /** Settles when the present process ends. */
  readonly exited: Promise<Exit>;
  /** Starts it again after it has ended; settles when it is ready. */
  start(): Promise<void>;
  /** Signals its whole process group (default SIGKILL) and waits for its end; this counts as no crash. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
  /** Asks it to end, and ends it when it does not. */
  stop(): Promise<void>;
}

export interface PartContext {
  dir: string;
  signal: AbortSignal;
  onChange: () => void;
  onCrash: (part: Part, exit: Exit) => void;
}

const INHERITED = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];
const PROBE_INTERVAL_MS = 50;
const TAIL_LINES = 25;

/** `extra`, and of our own environment nothing but PATH, HOME, LANG, TZ and TMPDIR. */
export function cleanEnvironment(extra: Record<string, string>): Record<string, string> {
  const kept = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), ...extra };
}

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
      // An own group: Ctrl-C in the terminal must reach the supervisor alone, which then stops parts in order.
      detached: true,
      ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
      ...(spec.uid === undefined ? {} : { uid: spec.uid }),
      ...(spec.gid === undefined ? {} : { gid: spec.gid }),
    });
  } finally {
    closeSync(output);
  }
}

/**
 * Makes a part out of a spec without starting it. While its process runs, `<dir>/processes/<name>.json` holds its
 * identity, so that a later supervisor can end it should this one be killed.
 */
export function createPart(name: string, spec: ProcessSpec, context: PartContext): Part {
  const log = join(context.dir, "logs", `${name}.log`);
  const record = join(context.dir, "processes", `${name}.json`);
  const stopSignal = spec.stopSignal ?? "SIGTERM";
  let child: ChildProcess | undefined;
  let exited: Promise<Exit> = Promise.resolve({ code: 0, signal: null });
  let ended = true;
  let expected = false;
  let ready = false;

  const launch = (): void => {
    const started = spawnInOwnGroup(spec, log);
    child = started;
    ended = false;
    expected = false;
    ready = false;
    const identity = started.pid === undefined ? undefined : identifyProcess(started.pid);
    if (identity !== undefined) writeFileSync(record, JSON.stringify({ ...identity, stopSignal }));
    exited = new Promise((resolve) => {
      const settle = (exit: Exit): void => {
        if (ended) return;
        ended = true;
        rmSync(record, { force: true });
        context.onChange();
        resolve(exit);
        if (ready && !expected) context.onCrash(part, exit);
      };
      started.once("exit", (code, signal) => settle({ code, signal }));
      started.once("error", (error) => {
        writeFileSync(log, `cannot run ${spec.command}: ${error.message}\n`, { flag: "a" });
        settle({ code: null, signal: null });
      });
    });
  };

  const waitUntilReady = async (): Promise<void> => {
    const giveUpAt = Date.now() + spec.deadlineMs;
    let last = "";
    while (Date.now() < giveUpAt) {
      context.signal.throwIfAborted();
      if (ended) {
        throw new StartError(
          `${name} ended (${describeExit(await exited)}) before it was ready; ${tailOf(log)}`,
        );
      }
      try {
        await spec.probe();
        return;
      } catch (error) {
        last = messageOf(error);
      }
      await Promise.race([sleep(PROBE_INTERVAL_MS), exited]);
    }
    throw new StartError(`${name} was not ready after ${spec.deadlineMs / 1000} s (${last}); ${tailOf(log)}`);
  };

  const signalAll = (signal: NodeJS.Signals): void => {
    expected = true;
    if (!ended && child?.pid !== undefined) signalGroup(child.pid, signal);
  };

  const part: Part = {
    name,
    log,
    get pid() {
      return ended ? 0 : (child?.pid ?? 0);
    },
    get exited() {
      return exited;
    },
    async start() {
      if (!ended) throw new Error(`${name} runs already`);
      launch();
      context.onChange();
      await waitUntilReady();
      ready = true;
      // It may have ended between its last answer and here, when nobody counted that as a crash yet.
      if (ended)
        throw new StartError(`${name} ended (${describeExit(await exited)}) at once; ${tailOf(log)}`);
    },
    async kill(signal = "SIGKILL") {
      signalAll(signal);
      return exited;
    },
    async stop() {
      signalAll(stopSignal);
      const timer = setTimeout(() => signalAll("SIGKILL"), spec.stopTimeoutMs ?? 3000);
      await exited;
      clearTimeout(timer);
    },
  };
  return part;
}
