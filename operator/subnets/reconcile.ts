import { composePlan, type Plan } from "../../shared/controller/plan.ts";
import { elapsedMs } from "../../shared/controller/time.ts";
import { releaseSubnet } from "./lock.ts";
import type { ObservedLock } from "./observe.ts";

/** A new lock may belong to a cluster that the cache does not show yet. */
const MIN_AGE_MS = 10 * 60_000;

/** Releases a subnet whose cluster is deleted, or uses another one. */
export function reconcileLock({ configMap, lock, owner }: ObservedLock, now: Date): Plan<never> {
  const subnet = owner?.status?.workerSubnet;
  const isUsed = owner !== undefined && (subnet === undefined || subnet === lock.subnet);
  if (isUsed || !(elapsedMs(lock.createdAt, now) >= MIN_AGE_MS)) return composePlan();
  return composePlan({ remove: [releaseSubnet(configMap.metadata.namespace ?? "", lock)] });
}
