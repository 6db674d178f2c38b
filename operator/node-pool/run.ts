import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, type PlanContext } from "../../shared/controller/plan.ts";
import type { StatusThrottle } from "../../shared/controller/status-throttle.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Caches } from "../caches.ts";
import { observePool, type PoolSettings } from "./observe.ts";
import { reconcilePool } from "./reconcile.ts";

export interface PoolDeps {
  caches: Caches;
  settings: PoolSettings;
  pace: StatusThrottle;
  now(): Date;
  /** The pools that this process has looked at. */
  seen: Set<string>;
}

/** One round for one pool: observe, decide, apply. Rejects with the KubeError of whoever refused. */
export async function runPool(
  deps: PoolDeps,
  key: string,
  planContext: Omit<PlanContext<never>, "kind">,
): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observePool(deps.caches, deps.settings, key, !deps.seen.has(key));
  if (observed === undefined) {
    deps.seen.delete(key);
    return undefined;
  }
  const plan = deps.pace(key, observed.pool.status, reconcilePool(observed, now));
  await applyPlan({ ...planContext, kind: nodePoolKind }, observed.pool, plan);
  deps.seen.add(key);
  return { requeueAfterMs: plan.requeueAfterMs };
}
