import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { MEMORY_ENVIRONMENT, runBundle } from "../../platform/stack/marina.ts";
import { requireHttpOk } from "../../platform/stack/probes.ts";
import { createPart, type Part, type ProcessSpec } from "../../platform/stack/process-part.ts";

/** An operator as shipped, started and killed by a benchmark. */
export interface OperatorProcess {
  part: Part;
  metricsUrl: string;
}

export interface OperatorOptions {
  /** The run directory. */
  dir: string;
  name: string;
  port: number;
  env: Readonly<Record<string, string>>;
  /** The control group to start it in. */
  group?: MemoryGroup | undefined;
}

/** Creates it without starting it; an unexpected exit is printed on the terminal. */
export function createOperator({ dir, name, port, env, group }: OperatorOptions): OperatorProcess {
  const url = `http://127.0.0.1:${port}`;
  const run = runBundle("operator");
  const spec: ProcessSpec = {
    ...(group === undefined ? run : group.wrap(run.command, run.args)),
    env: { ...env, ...MEMORY_ENVIRONMENT, MARINA_METRICS_PORT: String(port) },
    probe: () => requireHttpOk(`${url}/readyz`),
    deadlineMs: 300_000,
    stopTimeoutMs: 20_000,
  };
  const part = createPart(name, spec, {
    dir,
    signal: new AbortController().signal,
    onChange: () => undefined,
    onCrash: (_, exit) => console.error(`${name} ended by itself: ${JSON.stringify(exit)}`),
  });
  return { part, metricsUrl: `${url}/metrics` };
}

/** The operator's environment on a stack that was started with all its parts. */
export function readOperatorEnvironment(dir: string): Record<string, string> {
  const variables = parseEnv(readFileSync(join(dir, "operator.env"), "utf8"));
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, value ?? ""]));
}

/** A memory limit enforced by the kernel, page cache included. */
export interface MemoryGroup {
  wrap(command: string, args: readonly string[]): { command: string; args: string[] };
  remove(): void;
}

const NAME = "marina-bench";
const VERSIONS = [
  { root: "/sys/fs/cgroup", limit: "memory.max", marker: "cgroup.controllers" },
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", marker: "memory.limit_in_bytes" },
];

/** A control group with this limit; undefined where this user may not create one. */
export function createMemoryGroup(limitMB: number): MemoryGroup | undefined {
  const version = VERSIONS.find(({ root, marker }) => existsSync(join(root, marker)));
  if (version === undefined) return undefined;
  const folder = join(version.root, `${NAME}-${process.pid}`);
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, version.limit), String(limitMB * 2 ** 20));
  } catch {
    return undefined;
  }
  return {
    // The shell enters the group and then becomes the program, so that all its memory counts.
    wrap: (command, args) => ({
      command: "/bin/sh",
      args: ["-c", `echo $$ > ${join(folder, "cgroup.procs")} && exec "$0" "$@"`, command, ...args],
    }),
    remove: () => rmdirSync(folder),
  };
}
