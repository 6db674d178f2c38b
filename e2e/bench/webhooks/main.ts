import { benchBacklog } from "./backlog.ts";
import { type Bench, startBench } from "./bench.ts";
import { benchGrowth } from "./growth.ts";
import { benchLatency } from "./latency.ts";
import { benchSlowEndpoints } from "./slow-endpoints.ts";
import { benchThroughput } from "./throughput.ts";

const parts: Record<string, (bench: Bench) => Promise<void>> = {
  throughput: benchThroughput,
  latency: benchLatency,
  backlog: benchBacklog,
  "slow-endpoints": benchSlowEndpoints,
  growth: benchGrowth,
};

/** The benchmarks of webhooks: the named parts, or all of them. */
export async function benchWebhooks(names: readonly string[] = []): Promise<void> {
  const bench = await startBench();
  try {
    for (const name of names.length === 0 ? Object.keys(parts) : names) {
      const run = parts[name];
      if (run === undefined)
        throw new Error(`webhooks have no benchmark "${name}"; there are: ${Object.keys(parts).join(", ")}`);
      await run(bench);
    }
  } finally {
    await bench.stop();
  }
}
