import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { report } from "../report.ts";
import { BENCH_DIR } from "./bench-dir.ts";
import { describeFleet } from "./fleet-cluster.ts";
import { recordTemplate } from "./template.ts";

const ENTRY = join(import.meta.dirname, "..", "..", "..", "operator", "bench", "reconcile.bench.ts");

/** CPU of one reconcile of a converged cluster with two pools, and of a converged pool. */
export async function benchReconcile(): Promise<void> {
  const templateFile = await recordTemplate();
  const place = { dir: join(BENCH_DIR, "reconcile"), ports: { tenants: 6443 }, kubeconfig: "" };
  const { args, env } = await describeFleet(templateFile, place);
  const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  const { cluster, clusterWithCaches, pool, poolWithCaches } = JSON.parse(stdout);
  report("operator reconcile", [
    { name: "converged cluster of two pools: the decision", value: cluster, unit: "ms", limit: 0.3 },
    { name: "the same with its reading from the caches", value: clusterWithCaches, unit: "ms" },
    { name: "converged pool: the decision", value: pool, unit: "ms", limit: 0.3 },
    { name: "the same with its reading from the caches", value: poolWithCaches, unit: "ms" },
  ]);
}
