import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import type { Caches, RunContext } from "../caches.ts";
import { type AutoscalerSettings, observeAutoscaler } from "./observe.ts";
import { reconcileAutoscaler } from "./reconcile.ts";

export interface AutoscalerDeps {
  caches: Caches;
  settings: AutoscalerSettings;
}

/** Reconciles the autoscaler of one cluster. Rejects with the StepError of an object that was not written. */
export async function runAutoscaler(
  deps: AutoscalerDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeAutoscaler(deps.caches, deps.settings, key);
  if (observed === undefined) return undefined;
  await applyPlan({ ...context, kind: clusterKind }, observed.cluster, reconcileAutoscaler(observed));
  return undefined;
}
