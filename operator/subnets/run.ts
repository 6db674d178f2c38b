import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Caches, RunContext } from "../caches.ts";
import { observeLock } from "./observe.ts";
import { reconcileLock } from "./reconcile.ts";

export interface LockDeps {
  caches: Caches;
  now(): Date;
}

/** Reconciles one subnet lock. Rejects with the StepError of a lock that was not deleted. */
export async function runLock(deps: LockDeps, key: string, context: RunContext): Promise<ReconcileResult> {
  const observed = observeLock(deps.caches, key);
  if (observed === undefined) return undefined;
  const plan = reconcileLock(observed, deps.now());
  await applyPlan({ ...context, kind: configMapKind }, observed.configMap, plan);
  return { requeueAfterMs: plan.requeueAfterMs };
}
