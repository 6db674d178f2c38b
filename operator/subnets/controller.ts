import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Caches, RunContext } from "../caches.ts";
import { hasCapiWithId } from "../identity/ownership.ts";
import { INDEX_ID } from "../indexes.ts";
import { readLock } from "./lock.ts";
import { type ObservedLock, reconcileLock } from "./reconcile.ts";

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

/** Gathers a lock from the caches; undefined = it is deleted. */
function observeLock(caches: Caches, key: string): ObservedLock | undefined {
  const configMap = caches.subnetLocks.get(key);
  const lock = configMap && readLock(configMap);
  if (configMap === undefined || lock === undefined) return undefined;
  const [owner] = caches.clusters.byIndex(INDEX_ID, lock.clusterId);
  const runsInCapi = owner === undefined && hasCapiWithId(caches.capiClusters, lock.clusterId);
  return { configMap, lock, owner, runsInCapi };
}
