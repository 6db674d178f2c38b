import { listProcesses, type Stat, TICKS_PER_SECOND } from "../platform/programs/proc.ts";
import type { Stack } from "../platform/stack/stack.ts";

/**
 * Processor seconds of each running process of a stack by its name, with those of its descendants, the ended ones too:
 * each Postgres connection has a separate process.
 */
export function readStackCpuSeconds({ info }: Pick<Stack, "info">): Map<string, number> {
  const known = new Map(listProcesses().map((one) => [one.pid, one]));
  const sumOfTree = (root: number): number => {
    const isWithin = (one: Stat | undefined): boolean =>
      one !== undefined && (one.pid === root || isWithin(known.get(one.parent)));
    const tree = [...known.values()].filter(isWithin);
    return tree.reduce((sum, { own, ended }) => sum + own + ended, 0) / TICKS_PER_SECOND;
  };
  const running = Object.entries(info.processes).filter(([, { pid }]) => pid > 0);
  return new Map(running.map(([name, { pid }]) => [name, sumOfTree(pid)]));
}
