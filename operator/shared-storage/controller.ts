import { findCondition } from "../../shared/controller/conditions.ts";
import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { referTo } from "../../shared/controller/event-object.ts";
import { applyPlan, composePlan } from "../../shared/controller/plan.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { LABEL_SOURCE } from "../../shared/crd/names.ts";
import { findNamespaceOrganization, listConcernedNamespaces } from "../../shared/crd/organization.ts";
import {
  STORAGE_INVENTORY_NAME,
  type StorageInventory,
  type StorageInventoryStatus,
  storageInventoryKind,
} from "../../shared/crd/storage-inventory.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Logger } from "../../shared/program/log.ts";
import { type CacheSet, type Caches, enqueueTo, isNewSpec, type RunContext } from "../caches.ts";
import { type CephConnection, createCephApi } from "./ceph/api.ts";
import { createCephDriver } from "./ceph/driver.ts";
import { createDirectoryDriver } from "./directory.ts";
import { type StorageDriver, StorageError } from "./driver.ts";
import type { PoolList } from "./pool-list.ts";
import { type InventoryDecision, type ObservedInventory, reconcileInventory } from "./reconcile.ts";
import { composeInventoryStatus, formatBytes, type InventoryOutcome } from "./status.ts";

/** What a reconcile does to the storage before it writes the status. */
type StorageChange = "create" | "limit";

interface InventoryEvent {
  type: "Normal" | "Warning";
  reason: string;
  action: "Create" | "Update" | "Observe";
  note: string;
}

export interface InventoryDeps {
  caches: Pick<Caches, "inventories" | "namespaces">;
  pools: PoolList;
  driver: StorageDriver;
  defaultQuotaBytes: number;
  /** The limit in bytes of each change whose Event is recorded and whose pool could not be read since, by inventory. */
  unread: Map<string, number>;
  now(): Date;
  log: Pick<Logger, "warn">;
}

/** A change that failed is tried again after this time, and in each round. */
const RETRY_AFTER_MS = 15_000;

/**
 * Brings the pool of one inventory to the wanted state, and publishes its figures. A failure of the storage is a condition, and
 * not retried faster than that; rejects with a KubeError only.
 */
export async function runInventory(
  deps: InventoryDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeInventory(deps.caches, deps.pools, key, deps.defaultQuotaBytes);
  if (observed === undefined) {
    deps.unread.delete(key);
    return undefined;
  }
  const { inventory } = observed;
  const decision = reconcileInventory(observed);
  if (decision.kind === "ignore") return undefined;
  const { outcome, isChanged } =
    decision.kind === "report"
      ? { outcome: decision.outcome, isChanged: false }
      : await change(deps, decision, key, context.signal);
  // At once: where another client has written the inventory, its status is written later, when nothing is to be changed.
  if (decision.kind !== "report" && isChanged) {
    const { kind, quotaBytes } = decision;
    if (deps.unread.get(key) !== quotaBytes)
      context.recorder.record(composeChangeEvent(inventory, kind, quotaBytes));
    deps.unread.set(key, quotaBytes);
  }
  if (outcome.kind === "observed") deps.unread.delete(key);
  const status = composeInventoryStatus(inventory, outcome, deps.now());
  const events = status === undefined ? [] : composeInventoryEvents(inventory, status);
  await applyPlan({ ...context, kind: storageInventoryKind }, inventory, composePlan({ status, events }));
  return decision.kind !== "report" && outcome.kind === "failed"
    ? { requeueAfterMs: RETRY_AFTER_MS }
    : undefined;
}

/**
 * Changes the storage; the figures published are those that it reports afterwards. It is changed, too, where these could not be
 * read, but not where it reports another limit.
 */
async function change(
  deps: InventoryDeps,
  { kind, orgId, quotaBytes }: InventoryDecision & { kind: StorageChange },
  key: string,
  signal: AbortSignal,
): Promise<{ outcome: InventoryOutcome; isChanged: boolean }> {
  const { driver, pools, log } = deps;
  let isChanged = false;
  try {
    if (kind === "create") await driver.ensurePool(orgId, quotaBytes, signal);
    else await driver.setQuota(orgId, quotaBytes, signal);
    isChanged = true;
    const observedAt = deps.now();
    const pool = await driver.readPool(orgId, signal);
    pools.update(orgId, pool, observedAt);
    if (pool?.quotaBytes === quotaBytes)
      return { outcome: { kind: "observed", pool: { ...pool, observedAt } }, isChanged };
    isChanged = false;
    throw new StorageError("unavailable", "it accepted a limit that it does not report");
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    log.warn({ inventory: key, err: error }, "the shared storage was not changed, it is tried again");
    return { outcome: { kind: "failed", error }, isChanged };
  }
}

/** The Event of an inventory whose pool was created or has got another limit, in bytes. */
export function composeChangeEvent(
  inventory: StorageInventory,
  change: StorageChange,
  quotaBytes: number,
): RecordedEvent {
  const limit = formatBytes(quotaBytes);
  return composeEvent(
    inventory,
    change === "create"
      ? {
          type: "Normal",
          reason: "StorageCreated",
          action: "Create",
          note: `The shared storage was created with a limit of ${limit}.`,
        }
      : {
          type: "Normal",
          reason: "QuotaChanged",
          action: "Update",
          note: `The limit of the shared storage is ${limit}.`,
        },
  );
}

/** The Events of an inventory with its next status: its limit was reached, or the storage stopped doing what is wanted. */
export function composeInventoryEvents(
  inventory: StorageInventory,
  next: StorageInventoryStatus,
): RecordedEvent[] {
  const { status: last } = inventory;
  const events: InventoryEvent[] = [];
  if (!isFull(last) && isFull(next)) {
    const note = `The shared storage has reached its limit of ${formatBytes(next.quotaBytes ?? 0)}.`;
    events.push({ type: "Warning", reason: "QuotaReached", action: "Observe", note });
  }
  const ready = findCondition(next.conditions, "Ready");
  const before = findCondition(last?.conditions, "Ready");
  if (ready?.status === "False" && before?.reason !== ready.reason) {
    const { reason, message: note } = ready;
    events.push({ type: "Warning", reason, action: "Observe", note });
  }
  return events.map((event) => composeEvent(inventory, event));
}

function composeEvent({ metadata }: StorageInventory, event: InventoryEvent): RecordedEvent {
  const regarding = referTo(storageInventoryKind, metadata);
  return { regarding, labels: { [LABEL_SOURCE]: "operator" }, ...event };
}

function isFull(status: StorageInventoryStatus | undefined): boolean {
  const { quotaBytes, usedBytes } = status ?? {};
  return quotaBytes !== undefined && usedBytes !== undefined && usedBytes >= quotaBytes;
}

/** Gathers an inventory from the caches; undefined = it is deleted. */
function observeInventory(
  caches: Pick<Caches, "inventories" | "namespaces">,
  pools: Pick<PoolList, "read">,
  key: string,
  defaultQuotaBytes: number,
): ObservedInventory | undefined {
  const inventory = caches.inventories.get(key);
  if (inventory === undefined) return undefined;
  const organization = findNamespaceOrganization(caches.namespaces, inventory.metadata.namespace);
  return { inventory, organization, listing: pools.read(), defaultQuotaBytes };
}

/** Adds the key of an inventory when it, or the organization of its Namespace, changed. Its own status is none of these. */
export function watchInventories(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  cacheSet.listen("inventories", (change) => {
    if (isNewSpec(change)) add(objectKey(change.object), change);
  });
  cacheSet.listen("namespaces", (change) => {
    for (const namespace of listConcernedNamespaces(cacheSet.caches.namespaces, change))
      add(toKey(namespace, STORAGE_INVENTORY_NAME), change);
  });
}

/** The shared storage of an installation. */
export interface StorageSettings {
  backend:
    | { kind: "directory"; root: string }
    | { kind: "ceph"; connection: CephConnection; poolPrefix: string };
  /** The limit of an organization whose inventory names none. */
  defaultQuotaBytes: number;
  /** Time between two rounds. */
  intervalSeconds: number;
}

/** The driver of the configured storage. */
export function createDriver({ backend }: StorageSettings): StorageDriver {
  return backend.kind === "directory"
    ? createDirectoryDriver(backend.root)
    : createCephDriver(createCephApi(backend.connection), backend.poolPrefix);
}
