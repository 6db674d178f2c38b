import { join } from "node:path";
import { DEFAULT_PROVIDER } from "../platform/stack/provider.ts";
import { startStack } from "../platform/stack/stack.ts";
import { median } from "./measure.ts";
import { report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench");
const RUNS = 5;

/** Start of each of the two programs until it is ready, on an idle stack. */
export async function benchProcesses(): Promise<void> {
  const stack = await startStack({ dir: DIR, provider: DEFAULT_PROVIDER, onCrash: "report" });
  try {
    const figures = [];
    for (const name of ["apiserver", "operator"]) {
      const seconds: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        await stack.part(name).stop();
        const startedAt = performance.now();
        await stack.part(name).start();
        seconds.push((performance.now() - startedAt) / 1000);
      }
      figures.push({ name: `${name}: start to ready, median`, value: median(seconds), unit: "s", limit: 1 });
    }
    report("processes", figures);
  } finally {
    await stack.stop();
  }
}
