import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Caches, RunContext } from "../caches.ts";
import { hasCapiWithId } from "../identity/ownership.ts";
import { INDEX_ID } from "../indexes.ts";
import { readAllocation } from "./allocation.ts";
import { type ObservedAllocation, reconcileAllocation } from "./reconcile.ts";

/** Reconciles one subnet allocation. Rejects with the StepError of one that was not deleted. */
export async function runSubnet(
  { caches, now }: { caches: Caches; now: () => Date },
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeAllocation(caches, key);
  if (observed === undefined) return undefined;
  const plan = reconcileAllocation(observed, now());
  await applyPlan({ ...context, kind: configMapKind }, observed.configMap, plan);
  return { requeueAfterMs: plan.requeueAfterMs };
}

/** Gathers an allocation from the caches; undefined = it is deleted. */
function observeAllocation(caches: Caches, key: string): ObservedAllocation | undefined {
  const configMap = caches.subnetAllocations.get(key);
  const allocation = configMap && readAllocation(configMap);
  if (configMap === undefined || allocation === undefined) return undefined;
  const [owner] = caches.clusters.byIndex(INDEX_ID, allocation.clusterId);
  const runsInCapi = owner === undefined && hasCapiWithId(caches.capiClusters, allocation.clusterId);
  return { configMap, allocation, owner, runsInCapi };
}
