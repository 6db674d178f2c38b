import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../shared/program/errors.ts";
import { isRunning, type ProcessIdentity, signalGroup } from "../programs/process-identity.ts";
import { StartError } from "../programs/start-error.ts";
import { type Ordered, visitInOrder, visitInReverse } from "./graph.ts";
import { createPart, describeExit, type Exit, type Part, type ProcessSpec, tailOf } from "./process-part.ts";

/** A program of the table; its spec is created when its dependencies are ready. */
export interface ProcessNode extends Ordered {
  process: (signal: AbortSignal) => ProcessSpec | Promise<ProcessSpec>;
}

/** A one-time step between programs, such as migrating a database. */
export interface StepNode extends Ordered {
  /** The signal aborts when the stack stops: programs run by the step must end then. */
  run: (signal: AbortSignal) => Promise<void>;
  /** Default 180_000. */
  deadlineMs?: number;
}

export type Node = ProcessNode | StepNode;

export interface SupervisorOptions {
  /** Holds `logs/<name>.log` and `processes/<name>.json`. */
  dir: string;
  /** A part ended by itself after it had been ready; `message` names it and shows the end of its log. */
  onCrash: (part: Part, message: string) => void;
  /** The pid of some part has changed. */
  onChange?: () => void;
  /** One node is ready, `seconds` after its own start. */
  onReady?: (name: string, seconds: number) => void;
}

export interface Supervisor {
  /** Starts everything in order; on a failure everything is stopped, and the failure is thrown. */
  start(nodes: readonly Node[]): Promise<void>;
  /**
   * Adds nodes to what runs, in their order, once what was started is ready; nodes that ran already may be named in
   * their `after`. When one fails, everything else runs on, and the failure is thrown.
   */
  join(nodes: readonly Node[]): Promise<void>;
  /** Throws for a part that is not in the table or has not been started. */
  part(name: string): Part;
  parts(): readonly Part[];
  /** Stops everything in reverse; safe to call twice and in the middle of a start. */
  stop(): Promise<void>;
}

// All are signalled together, and one that waits for another (kube-apiserver for etcd) does not end by itself.
const STALE_END_MS = 1000;
const STEP_DEADLINE_MS = 180_000;

async function runStep(node: StepNode, stopped: AbortSignal): Promise<void> {
  const deadlineMs = node.deadlineMs ?? STEP_DEADLINE_MS;
  const timer = new AbortController();
  const late = sleep(deadlineMs, undefined, { signal: timer.signal }).then(() => {
    throw new StartError(`${node.name} did not finish within ${deadlineMs / 1000} s`);
  });
  try {
    await Promise.race([node.run(stopped), late]);
  } catch (error) {
    stopped.throwIfAborted();
    if (error instanceof StartError) throw error;
    throw new StartError(`${node.name} failed: ${messageOf(error)}`, { cause: error });
  } finally {
    late.catch(() => {});
    timer.abort();
  }
}

async function endStale(identity: ProcessIdentity, stopSignal: NodeJS.Signals): Promise<void> {
  signalGroup(identity.pid, stopSignal);
  const killDeadline = Date.now() + STALE_END_MS;
  while (isRunning(identity)) {
    if (Date.now() > killDeadline) signalGroup(identity.pid, "SIGKILL");
    await sleep(50);
  }
}

function readRecord(path: string): (ProcessIdentity & { stopSignal: NodeJS.Signals }) | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Truncated by the kill, so it names no process; or deleted by its writer, which ends its own processes.
    return undefined;
  }
}

/**
 * Ends the processes that a killed supervisor left in `dir`, and no others: pid and start time must match the record.
 * Returns their names.
 */
export async function endLeftovers(dir: string): Promise<string[]> {
  const folder = join(dir, "processes");
  mkdirSync(folder, { recursive: true });
  const found: string[] = [];
  const ends = readdirSync(folder).map(async (file) => {
    const path = join(folder, file);
    const record = readRecord(path);
    if (record !== undefined && isRunning(record)) {
      found.push(file.replace(/\.json$/, ""));
      await endStale(record, record.stopSignal);
    }
    rmSync(path, { force: true });
  });
  await Promise.all(ends);
  return found;
}

interface StartContext {
  options: SupervisorOptions;
  parts: Map<string, Part>;
  signal: AbortSignal;
  onCrash: (part: Part, exit: Exit) => void;
}

async function startNode(node: Node, { options, parts, signal, onCrash }: StartContext): Promise<void> {
  signal.throwIfAborted();
  const startedAt = Date.now();
  if ("run" in node) await runStep(node, signal);
  else {
    const spec = await node.process(signal);
    signal.throwIfAborted();
    rmSync(join(options.dir, "logs", `${node.name}.log`), { force: true });
    const onChange = options.onChange ?? (() => {});
    const part = createPart(node.name, spec, { dir: options.dir, signal, onChange, onCrash });
    parts.set(node.name, part);
    await part.start();
  }
  options.onReady?.(node.name, (Date.now() - startedAt) / 1000);
}

/** Runs a table of programs and steps. When this process exits without `stop`, all programs get their stop signal. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const parts = new Map<string, Part>();
  const abort = new AbortController();
  let table: readonly Node[] = [];
  let stopping: Promise<void> | undefined;
  mkdirSync(join(options.dir, "logs"), { recursive: true });
  mkdirSync(join(options.dir, "processes"), { recursive: true });
  const onCrash = (part: Part, exit: Exit): void => {
    if (stopping !== undefined) return;
    options.onCrash(part, `${part.name} ended by itself (${describeExit(exit)}); ${tailOf(part.log)}`);
  };
  // Programs are in separate process groups, which Ctrl+C does not reach. On exit nothing can be waited for.
  const signalAll = (): void => {
    for (const part of parts.values()) part.endWithOthers();
  };
  process.once("exit", signalAll);
  const stop = (): Promise<void> => {
    // First, so that nothing else starts.
    abort.abort(new StartError("stopped while starting"));
    stopping ??= visitInReverse(table, async (node) => parts.get(node.name)?.stop()).finally(() =>
      process.off("exit", signalAll),
    );
    return stopping;
  };
  return {
    async start(nodes) {
      table = nodes;
      try {
        await visitInOrder(nodes, (node) =>
          startNode(node, { options, parts, signal: abort.signal, onCrash }),
        );
      } catch (error) {
        await stop();
        throw error;
      }
    },
    async join(nodes) {
      abort.signal.throwIfAborted();
      const running = new Set(table.map(({ name }) => name));
      table = [...table, ...nodes];
      const order = nodes.map((node) => ({
        name: node.name,
        after: node.after.filter((name) => !running.has(name)),
        node,
      }));
      await visitInOrder(order, ({ node }) =>
        startNode(node, { options, parts, signal: abort.signal, onCrash }),
      );
    },
    part(name) {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`no part ${name}; there are: ${[...parts.keys()].join(", ")}`);
      return part;
    },
    parts: () => [...parts.values()],
    stop,
  };
}
