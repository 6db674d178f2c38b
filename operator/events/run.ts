import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { eventKind } from "../../shared/kube/core-kinds.ts";
import type { Caches, RunContext } from "../caches.ts";
import { observeEvent } from "./observe.ts";
import { reconcileEvent } from "./reconcile.ts";

export interface EventDeps {
  caches: Caches;
  reportingController: string;
}

/** Reconciles one Cluster API Event: the Marina Cluster that it is about gets the same Event. */
export async function runEvent(deps: EventDeps, key: string, context: RunContext): Promise<ReconcileResult> {
  const observed = observeEvent(deps.caches, deps.reportingController, key);
  if (observed === undefined) return undefined;
  const plan = reconcileEvent(observed);
  await applyPlan({ ...context, kind: eventKind }, observed.event, plan);
  return { requeueAfterMs: plan.requeueAfterMs };
}
