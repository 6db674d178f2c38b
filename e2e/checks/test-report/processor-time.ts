import { readFileSync } from "node:fs";
import { listProcesses, type Stat, TICKS_PER_SECOND } from "../../platform/programs/proc.ts";
import { kindOfProcess, UNKNOWN_KIND } from "./process-kinds.ts";

/** One sample of a process: its times in ticks, and what it is. */
export interface ProcessSample extends Stat {
  kind: string;
}

interface Seen extends ProcessSample {
  /** In the latest round of samples. */
  alive: boolean;
}

/** Seconds of processor time by kind of process, of all descendants of one process since the first round. */
export interface ProcessorTimes {
  /** Adds one round: every process of the machine. */
  add(samples: readonly ProcessSample[]): void;
  /** By kind, the largest first. Children too short to be sampled count as "short children of" their parent's kind. */
  seconds(): [kind: string, seconds: number][];
}

/** A process stays counted when its parent has ended: the programs of tenants outlive their provider. */
export function createProcessorTimes(rootPid: number): ProcessorTimes {
  const seen = new Map<string, Seen>();
  let base: number | undefined;
  return {
    add(samples) {
      const known = new Map(samples.map((sample) => [sample.pid, sample]));
      const isWithin = (sample: ProcessSample | undefined): boolean =>
        sample !== undefined &&
        (sample.pid === rootPid || seen.has(keyOf(sample)) || isWithin(known.get(sample.parent)));
      for (const one of seen.values()) one.alive = false;
      for (const sample of samples.filter(isWithin)) {
        const before = seen.get(keyOf(sample));
        // The parent of the first sample, for an orphan gets another; a process that has ended has no command line.
        const { parent } = before ?? sample;
        const kind = sample.kind === UNKNOWN_KIND ? (before?.kind ?? UNKNOWN_KIND) : sample.kind;
        seen.set(keyOf(sample), { ...sample, parent, kind, alive: true });
      }
      const root = known.get(rootPid);
      base ??= root === undefined ? 0 : root.own + root.ended;
    },
    seconds() {
      const ticks = new Map<string, number>();
      const add = (kind: string, value: number): void => {
        ticks.set(kind, (ticks.get(kind) ?? 0) + value);
      };
      const all = [...seen.values()];
      for (const one of all) {
        add(one.kind, one.own - (one.pid === rootPid ? (base ?? 0) : 0));
        add(`short children of ${one.kind}`, Math.max(0, one.ended - sumEndedChildren(one, all)));
      }
      const rows = [...ticks].map(([kind, value]): [string, number] => [kind, value / TICKS_PER_SECOND]);
      return rows.filter(([, value]) => value >= 0.05).sort((a, b) => b[1] - a[1]);
    },
  };
}

/**
 * What the sampled children of a process that have ended add to its `ended`. A child that ended right after its own
 * children was last sampled before theirs was added to it.
 */
function sumEndedChildren(one: Seen, all: readonly Seen[]): number {
  const ended = all.filter(
    (child) =>
      !child.alive &&
      child.parent === one.pid &&
      Number(child.startTime) >= Number(one.startTime) &&
      child !== one,
  );
  return ended.reduce(
    (sum, child) => sum + child.own + Math.max(child.ended, sumEndedChildren(child, all)),
    0,
  );
}

function keyOf({ pid, startTime }: ProcessSample): string {
  return `${pid}/${startTime}`;
}

/** Samples every process of this machine; empty where there is no /proc. */
export function sampleProcesses(): ProcessSample[] {
  if (process.platform !== "linux") return [];
  return listProcesses().map((stat) => ({ ...stat, kind: kindOfProcess(readCommandLine(stat.pid)) }));
}

function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
