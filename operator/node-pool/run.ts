import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import type { StatusThrottle } from "../../shared/controller/status-throttle.ts";
import { nodePoolConditionTypes, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Logger } from "../../shared/program/log.ts";
import type { Caches, RunContext } from "../caches.ts";
import { describeLeftover } from "./leftover.ts";
import { observePool, type PoolSettings } from "./observe.ts";
import { reconcilePool } from "./reconcile.ts";
import { ownPoolStatus } from "./status.ts";

export interface PoolDeps {
  caches: Caches;
  settings: PoolSettings;
  throttle: StatusThrottle;
  now(): Date;
  log: Pick<Logger, "warn">;
}

/** Reconciles one pool: observe, decide, apply. Rejects with a KubeError, or a StepError of another object. */
export async function runPool(deps: PoolDeps, key: string, context: RunContext): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observePool(deps.caches, deps.settings, key);
  if (observed === undefined) return undefined;
  const plan = deps.throttle(key, ownPoolStatus(observed.pool.status), reconcilePool(observed, now));
  await applyPlan(
    { ...context, kind: nodePoolKind, conditionTypes: nodePoolConditionTypes },
    observed.pool,
    plan,
  );
  if (plan.releaseFinalizer && observed.capi !== undefined) {
    deps.log.warn({ pool: key }, describeLeftover(observed));
  }
  return { requeueAfterMs: plan.requeueAfterMs };
}
