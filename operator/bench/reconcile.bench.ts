import { observeCluster } from "../cluster/observe.ts";
import { reconcileCluster } from "../cluster/reconcile.ts";
import { observePool } from "../node-pool/observe.ts";
import { reconcilePool } from "../node-pool/reconcile.ts";
import { createFleet, FOUND } from "./converged-fleet.ts";
import { readFleetOptions } from "./input.ts";

const CLUSTERS = 500;
const ROUNDS = 7;

/**
 * CPU of one reconcile of a converged cluster with two pools, and of a converged pool: the decision alone, and with the
 * reading from the caches. Prints one line of JSON in milliseconds, the median of the rounds. Arguments and environment
 * are those of fleet.bench.ts.
 */
async function main([templateFile, tenantJson]: string[]): Promise<void> {
  const options = await readFleetOptions(templateFile, tenantJson);
  const { settings } = options;
  const fleet = createFleet(options);
  const { caches } = fleet;
  const converged = Array.from({ length: CLUSTERS }, (_, index) => fleet.make(index));
  const keys = converged.map(({ cluster }) => cluster);
  const poolKeys = converged.flatMap(({ pools }) => pools);
  const now = new Date();
  const lookAtCluster = (key: string) => observeCluster(caches, settings, FOUND, key, now);
  const lookAtPool = (key: string) => observePool(caches, settings, key);
  const clusters = keys.flatMap((key) => lookAtCluster(key) ?? []);
  const pools = poolKeys.flatMap((key) => lookAtPool(key) ?? []);
  const result = {
    cluster: measureMs(clusters, (observed) => reconcileCluster(observed, now)),
    clusterWithCaches: measureMs(keys, (key) => {
      const observed = lookAtCluster(key);
      if (observed !== undefined) reconcileCluster(observed, now);
    }),
    pool: measureMs(pools, (observed) => reconcilePool(observed, now)),
    poolWithCaches: measureMs(poolKeys, (key) => {
      const observed = lookAtPool(key);
      if (observed !== undefined) reconcilePool(observed, now);
    }),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

function measureMs<T>(items: readonly T[], run: (item: T) => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (const item of items) run(item);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / items.length;
  });
  return rounds.toSorted((left, right) => left - right)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

await main(process.argv.slice(2));
