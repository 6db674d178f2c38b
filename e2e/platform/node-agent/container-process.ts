import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { signalGroup } from "../programs/process-identity.ts";
import type { Container, ContainerState } from "./kinds.ts";

/** A running process of a container. */
export interface ContainerProcess {
  pid: number;
  startedAt: string;
  /** Resolves when it has ended, to the terminated state. */
  exited: Promise<NonNullable<ContainerState["terminated"]>>;
  signal(signal: NodeJS.Signals): void;
}

export interface ProcessInput {
  /** The command line of the sandbox. */
  command: readonly string[];
  environment: Record<string, string>;
  /** Standard output and errors are appended to it. */
  log: string;
  messageFile: string;
  policy: Container["terminationMessagePolicy"];
}

// The limits of kubelet.
const MESSAGE_BYTES = 4096;
const LOG_TAIL_BYTES = 2048;
const LOG_TAIL_LINES = 80;

const SIGNAL_EXIT_CODES: Partial<Record<NodeJS.Signals, number>> = { SIGKILL: 137, SIGTERM: 143 };

/** The exit code that a container runtime reports: 128 and the number of the signal that ended the process. */
export function toExitCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? SIGNAL_EXIT_CODES[signal ?? "SIGKILL"] ?? 128;
}

/** The termination message: what the container wrote to its file, or the end of its log if the policy says so. */
export function composeTerminationMessage(
  written: string,
  log: string,
  { exitCode, policy }: { exitCode: number; policy: Container["terminationMessagePolicy"] },
): string | undefined {
  if (written !== "") return written.slice(0, MESSAGE_BYTES);
  if (policy !== "FallbackToLogsOnError" || exitCode === 0) return undefined;
  return log.split("\n").slice(-LOG_TAIL_LINES).join("\n").slice(-LOG_TAIL_BYTES);
}

function describeEnd(input: ProcessInput, child: ChildProcess, startedAt: string, logStart: number) {
  const exitCode = toExitCode(child.exitCode, child.signalCode);
  const written = readFileSync(input.messageFile, "utf8");
  const log = readFileSync(input.log).subarray(logStart).toString();
  const message = composeTerminationMessage(written, log, { exitCode, policy: input.policy });
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    ...(message !== undefined && message !== "" && { message }),
    startedAt,
    finishedAt: new Date().toISOString(),
  };
}

/** Starts the process. A command that cannot be started ends at once with code 128. */
export function startContainerProcess(input: ProcessInput): ContainerProcess {
  mkdirSync(dirname(input.log), { recursive: true });
  writeFileSync(input.messageFile, "", { mode: 0o666 });
  const output = openSync(input.log, "a");
  const logStart = readFileSync(input.log).length;
  const [program = "", ...args] = input.command;
  const startedAt = new Date().toISOString();
  const child = spawn(program, args, {
    env: input.environment,
    stdio: ["ignore", output, output],
    // A separate process group, so that what it starts ends with it.
    detached: true,
  });
  closeSync(output);
  const exited = new Promise<NonNullable<ContainerState["terminated"]>>((resolve) => {
    const end = (): void => resolve(describeEnd(input, child, startedAt, logStart));
    child.once("exit", end);
    child.once("error", end);
  });
  return {
    pid: child.pid ?? 0,
    startedAt,
    exited,
    signal(signal) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      if (signal === "SIGKILL") signalGroup(child.pid, signal);
      else child.kill(signal);
    },
  };
}
