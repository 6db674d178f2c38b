import { mkdirSync } from "node:fs";
import { BENCH_DIR } from "./bench-dir.ts";
import { benchBurst } from "./burst.ts";
import { benchFleet } from "./fleet.ts";
import { benchGrowth } from "./growth.ts";
import { benchLifecycle } from "./lifecycle.ts";
import { benchOverhead } from "./overhead.ts";
import { benchReconcile } from "./reconcile.ts";
import { benchStatusWrites } from "./status-writes.ts";

const parts: Record<string, (size?: number) => Promise<void>> = {
  reconcile: benchReconcile,
  lifecycle: benchLifecycle,
  burst: benchBurst,
  overhead: benchOverhead,
  "status-writes": benchStatusWrites,
  fleet: benchFleet,
  growth: benchGrowth,
};

/** The operator's benchmarks: the named parts, or all of them. A number after a name is the size of its fleet. */
export async function benchOperator(args: readonly string[] = []): Promise<void> {
  mkdirSync(BENCH_DIR, { recursive: true });
  const names = args.filter((arg) => Number.isNaN(Number(arg)));
  for (const name of names.length === 0 ? Object.keys(parts) : names) {
    const run = parts[name];
    if (run === undefined)
      throw new Error(`the operator has no benchmark "${name}"; there are: ${Object.keys(parts).join(", ")}`);
    const size = args[args.indexOf(name) + 1];
    await run(size === undefined || Number.isNaN(Number(size)) ? undefined : Number(size));
  }
}
