import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Logger } from "../../shared/program/log.ts";
import { formatTime, remainingMs } from "../../shared/program/time.ts";
import type { Caches, RunContext } from "../caches.ts";
import { type StorageDriver, StorageError, type StoragePool } from "./driver.ts";
import type { PoolList } from "./pool-list.ts";

/** The only key of the controller of rounds. */
export const ROUND = "round";

/** Holds since when pools have had no inventory. */
const ORPHANS_CONFIG_MAP = "shared-storage-orphans";
/** Pools removed in one round; the rest waits for the next one. */
const MAX_REMOVALS = 20;
const RETRY_AFTER_MS = 15_000;

export interface RoundDeps {
  caches: Pick<Caches, "inventories" | "namespaces">;
  client: Pick<KubeClient, "get">;
  pools: PoolList;
  driver: StorageDriver;
  platformNamespace: string;
  intervalMs: number;
  now(): Date;
  log: Pick<Logger, "info" | "warn">;
}

/**
 * One round: lists the pools once, has every inventory reconciled with that list, and removes the pools that have had no
 * inventory for 7 days. The status of the inventories reports a failure of the storage; rejects with a KubeError only.
 */
export async function runRound(
  deps: RoundDeps,
  inventories: Pick<Controller, "add">,
  context: RunContext,
): Promise<ReconcileResult> {
  const listed = await listPools(deps, context.signal);
  for (const key of deps.caches.inventories.keys()) inventories.add(key, { priority: PRIORITY_BACKGROUND });
  if (listed === undefined) return { requeueAfterMs: Math.min(deps.intervalMs, RETRY_AFTER_MS) };
  await removeOrphans(deps, listed, context);
  return { requeueAfterMs: deps.intervalMs };
}

async function listPools(deps: RoundDeps, signal: AbortSignal): Promise<StoragePool[] | undefined> {
  const { driver, pools, log } = deps;
  const observedAt = deps.now();
  try {
    const listed = await driver.listPools(signal);
    pools.replace(listed, observedAt);
    return listed;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    log.warn({ err: error }, "the pools of the shared storage cannot be listed, it is tried again");
    pools.fail(error);
    return undefined;
  }
}

async function removeOrphans(deps: RoundDeps, listed: StoragePool[], context: RunContext): Promise<void> {
  const { client, driver, platformNamespace: namespace, log } = deps;
  const { signal, fieldManager } = context;
  const organizations = listOrganizations(deps.caches);
  const ids = listed.map(({ orgId }) => orgId);
  const kept = await client.get(configMapKind, namespace, ORPHANS_CONFIG_MAP, { signal });
  const known: OrphanTimes = kept?.data ?? {};
  const { remove, times } = decideRemovals(ids, organizations, known, deps.now());
  if (times !== known) {
    const object = {
      metadata: { name: ORPHANS_CONFIG_MAP, namespace },
      data: { ...times },
    };
    await context.client.apply(configMapKind, object, { fieldManager, force: true, signal });
  }
  for (const orgId of remove.slice(0, MAX_REMOVALS)) {
    // An uncached read: what is removed cannot be had back.
    const inventory = await client.get(storageInventoryKind, `org-${orgId}`, STORAGE_INVENTORY_NAME, {
      signal,
    });
    if (inventory !== undefined) continue;
    try {
      await driver.removePool(orgId, signal);
      log.info({ orgId }, "removed the shared storage of an organization, 7 days after its inventory");
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      log.warn(
        { orgId, err: error },
        "the shared storage of an organization was not removed, it is tried again",
      );
      return;
    }
  }
}

/** Every organization that an inventory may belong to: by its label, by its Namespace's label, and by that one's name. */
function listOrganizations({ inventories, namespaces }: RoundDeps["caches"]): Set<string> {
  const ids = inventories
    .list()
    .flatMap(({ metadata }) => [
      metadata.labels?.[LABEL_ORG_ID],
      namespaces.get(metadata.namespace ?? "")?.metadata.labels?.[LABEL_ORG_ID],
      metadata.namespace?.replace(/^org-/, ""),
    ]);
  return new Set(ids.filter((id) => id !== undefined));
}

/** A pool is kept for this long without an inventory: it may have been deleted by mistake. */
const KEEP_MS = 7 * 24 * 60 * 60_000;
/** Times that are kept at most, so that the object that holds them stays well below 1 MiB. */
const MAX_KEPT = 5_000;

/** Since when pools have had no inventory: RFC 3339 by the id of their organization. */
export type OrphanTimes = Readonly<Record<string, string>>;

export interface Removals {
  /** The organizations whose pools are to be removed. */
  remove: string[];
  /** The times to keep; the same object when none changed. */
  times: OrphanTimes;
}

/**
 * Which pools to remove, each at least 7 days after the first round that found no inventory of its organization. Without a
 * single inventory nothing is decided: then it is the inventories that are missing, as in a cluster that is being restored.
 */
export function decideRemovals(
  pools: readonly string[],
  organizations: ReadonlySet<string>,
  known: OrphanTimes,
  now: Date,
): Removals {
  if (organizations.size === 0) return { remove: [], times: known };
  const orphans = pools.filter((orgId) => !organizations.has(orgId));
  const remove: string[] = [];
  const times: Record<string, string> = {};
  for (const orgId of orphans) {
    const since = readTime(known[orgId], now);
    if (since === undefined) {
      if (Object.keys(times).length < MAX_KEPT) times[orgId] = formatTime(now);
      continue;
    }
    if (remainingMs(since, KEEP_MS, now) === undefined) remove.push(orgId);
    times[orgId] = since;
  }
  const isSame =
    Object.keys(times).length === Object.keys(known).length &&
    Object.entries(times).every(([orgId, since]) => known[orgId] === since);
  return { remove, times: isSame ? known : times };
}

/** A time that cannot be read, or lies ahead, begins anew: it must never lead to a removal. */
function readTime(since: string | undefined, now: Date): string | undefined {
  const at = Date.parse(since ?? "");
  return at <= now.getTime() ? since : undefined;
}
