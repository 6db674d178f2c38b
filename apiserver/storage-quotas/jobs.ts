import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { type StorageInventory, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Deps } from "../deps.ts";
import { findDeletedOrganizations, organizationNamespace } from "../organizations/index.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { publishStorageQuota, toQuotaBytes } from "./changes.ts";
import { listConfiguredLimits } from "./store.ts";

const EVERY_MS = 60_000;

/** Makes every StorageInventory equal to what is configured, and removes those of deleted organizations. */
export function storageQuotaJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "storage-inventories", everyMs: EVERY_MS, run: (signal) => alignInventories(deps, signal) },
  ];
}

async function alignInventories(deps: Deps, signal: AbortSignal): Promise<void> {
  const inventories = await deps.kube.listAll(storageInventoryKind, { signal });
  await removeEnded(deps, inventories, signal);
  const byNamespace = new Map(inventories.map((inventory) => [inventory.metadata.namespace, inventory]));
  for (const { orgId, configuredGB } of await listConfiguredLimits(deps.db)) {
    if (signal.aborted) return;
    const inventory = byNamespace.get(organizationNamespace(orgId));
    if (inventory !== undefined && inventory.spec.quotaBytes === toQuotaBytes(configuredGB)) continue;
    try {
      await publishStorageQuota(deps, orgId);
      deps.log.info({ orgId }, "published the storage quota");
    } catch (error) {
      const message = messageOf(error);
      deps.log.warn({ orgId, message }, "the storage quota is not published yet");
    }
  }
}

async function removeEnded(
  { kube, db, log }: Deps,
  inventories: readonly StorageInventory[],
  signal: AbortSignal,
): Promise<void> {
  const kept = inventories.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const deleted = await findDeletedOrganizations(db, kept.map(organizationOf));
  for (const inventory of kept) {
    const { namespace, name, uid } = inventory.metadata;
    const orgId = organizationOf(inventory);
    if (!deleted.has(orgId) || namespace !== organizationNamespace(orgId)) continue;
    await kube.delete(storageInventoryKind, namespace, name, { uid, signal });
    log.info({ orgId }, "removed the storage inventory of a deleted organization");
  }
}

function organizationOf({ metadata }: StorageInventory): string {
  return metadata.labels?.[LABEL_ORG_ID] ?? "";
}
