import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan } from "../../shared/controller/plan.ts";
import { storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import type { Logger } from "../../shared/log.ts";
import type { Caches } from "../caches.ts";
import type { RunContext } from "../run-context.ts";
import { type StorageDriver, StorageError } from "./driver.ts";
import { composeInventoryEvents, type StorageChange } from "./events.ts";
import { observeInventory } from "./observe.ts";
import type { PoolList } from "./pool-list.ts";
import { type InventoryDecision, reconcileInventory } from "./reconcile.ts";
import { composeInventoryStatus, type InventoryOutcome } from "./status.ts";

export interface InventoryDeps {
  caches: Pick<Caches, "inventories" | "namespaces">;
  pools: PoolList;
  driver: StorageDriver;
  defaultQuotaBytes: number;
  now(): Date;
  log: Pick<Logger, "warn">;
}

/** A change that failed is tried again after this time, and in each round. */
const RETRY_AFTER_MS = 15_000;

/**
 * Makes the pool of one inventory as it is wanted, and publishes its figures. A failure of the storage is a condition, and
 * not retried faster than that; rejects with a KubeError only.
 */
export async function runInventory(
  deps: InventoryDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeInventory(deps.caches, deps.pools, key, deps.defaultQuotaBytes);
  if (observed === undefined) return undefined;
  const { inventory } = observed;
  const decision = reconcileInventory(observed);
  if (decision.kind === "ignore") return undefined;
  const outcome =
    decision.kind === "report" ? decision.outcome : await change(deps, decision, key, context.signal);
  const status = composeInventoryStatus(inventory, outcome, deps.now());
  const done = decision.kind === "report" ? undefined : CHANGES[decision.kind];
  const events = status === undefined ? [] : composeInventoryEvents(inventory, status, done);
  await applyPlan({ ...context, kind: storageInventoryKind }, inventory, composePlan({ status, events }));
  return decision.kind !== "report" && outcome.kind === "failed"
    ? { requeueAfterMs: RETRY_AFTER_MS }
    : undefined;
}

const CHANGES = { create: "created", limit: "limited" } as const satisfies Record<string, StorageChange>;

/** Changes the storage; the figures published are those that it reports afterwards. */
async function change(
  deps: InventoryDeps,
  { kind, orgId, quotaBytes }: InventoryDecision & { kind: "create" | "limit" },
  key: string,
  signal: AbortSignal,
): Promise<InventoryOutcome> {
  const { driver, pools, log } = deps;
  try {
    if (kind === "create") await driver.ensurePool(orgId, quotaBytes, signal);
    else await driver.setQuota(orgId, quotaBytes, signal);
    const observedAt = deps.now();
    const pool = await driver.readPool(orgId, signal);
    pools.update(orgId, pool, observedAt);
    if (pool?.quotaBytes === quotaBytes) return { kind: "observed", pool: { ...pool, observedAt } };
    throw new StorageError("unavailable", "it accepted a limit that it does not report");
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    log.warn({ inventory: key, err: error }, "the shared storage was not changed, it is tried again");
    return { kind: "failed", error };
  }
}
