import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { readMemoryMB } from "../platform/programs/proc.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { type Figure, report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench");
const OWN_PARTS = ["Marina CRDs", "migrations", "apiserver", "operator"];
const IDLE_MS = 20_000;

interface Run {
  child: ChildProcess;
  readySeconds: number;
  /** Seconds by part, as printed by the start. */
  parts: Map<string, number>;
}

/**
 * Starts the stack as `npm start` does, twice in one directory: the first run creates the state, the second is the warm
 * one that is measured. Then memory when idle, and the time from Ctrl-C until nothing is left.
 */
export async function benchStart(): Promise<void> {
  await stop((await start(["--fresh"])).child);
  const warm = await start([]);
  const info: StackInfo = JSON.parse(readFileSync(join(DIR, "stack.json"), "utf8"));
  await sleep(IDLE_MS);
  const memory = ["apiserver", "operator"].map((name): Figure => {
    const value = readMemoryMB(info.processes[name]?.pid ?? 0).now;
    return { name: `${name}: resident memory when idle`, value, unit: "MB", limit: 130 };
  });
  const stopSeconds = await stop(warm.child);
  const left = Object.values(info.processes).filter(({ pid }) => existsSync(`/proc/${pid}`)).length;
  const own = OWN_PARTS.reduce((sum, name) => sum + (warm.parts.get(name) ?? Number.NaN), 0);
  report("start", [
    { name: "warm start to ready", value: warm.readySeconds, unit: "s", limit: 30 },
    { name: "of it Marina's own parts, one after another", value: own, unit: "s", limit: 5 },
    ...memory,
    { name: "Ctrl-C to everything gone", value: stopSeconds, unit: "s", limit: 8 },
    { name: "processes left", value: left, unit: "", limit: 0 },
  ]);
}

async function start(args: string[]): Promise<Run> {
  const startedAt = performance.now();
  const entry = join(import.meta.dirname, "..", "platform", "stack", "start.ts");
  const child = spawn(process.execPath, [entry, "--dir", DIR, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const parts = new Map<string, number>();
  for await (const line of createInterface({ input: child.stdout })) {
    const part = /^\s*[\d.]+s\s+(.+) \(([\d.]+) s\)$/.exec(line);
    if (part?.[1] !== undefined) parts.set(part[1], Number(part[2]));
    if (line.startsWith("Ready after")) {
      child.stdout.resume();
      return { child, parts, readySeconds: (performance.now() - startedAt) / 1000 };
    }
  }
  throw new Error("the stack did not become ready");
}

async function stop(child: ChildProcess): Promise<number> {
  const startedAt = performance.now();
  child.kill("SIGINT");
  await once(child, "exit");
  return (performance.now() - startedAt) / 1000;
}
