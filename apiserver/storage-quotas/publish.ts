import { MANAGER_APISERVER } from "../../shared/crd/names.ts";
import {
  BYTES_PER_GIB,
  STORAGE_INVENTORY_NAME,
  storageInventoryKind,
} from "../../shared/crd/storage-inventory.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Deps } from "../deps.ts";
import { ensureInventory, ensureNamespace, organizationNamespace } from "../organizations/index.ts";
import { readStorageQuota } from "./store.ts";

const REQUEST_TIMEOUT_MS = 2000;
/** Writes after which another change that came in between is left to the job. */
const MAX_WRITES = 3;

type PublishDeps = Pick<Deps, "kube" | "db" | "config">;

/** A configured limit in bytes, the published form; undefined where none is set. */
export function toQuotaBytes(configuredGB: number | null): number | undefined {
  return configuredGB === null ? undefined : configuredGB * BYTES_PER_GIB;
}

/**
 * Writes the configured limit of an organization into its StorageInventory, which it makes if it is missing. Reads the limit
 * again after the write, so that of several at once the last one writes what is configured. Rejects with a KubeError, or
 * 409 conflict while the Namespace is being deleted.
 */
export async function publishStorageQuota(
  deps: PublishDeps,
  orgId: string,
  options: { timeoutMs?: number } = {},
): Promise<void> {
  let { configuredGB } = await readStorageQuota(deps.db, orgId);
  for (let writes = 0; writes < MAX_WRITES; writes += 1) {
    await writeQuota(deps, orgId, toQuotaBytes(configuredGB), options);
    const current = await readStorageQuota(deps.db, orgId);
    if (current.configuredGB === configuredGB) return;
    configuredGB = current.configuredGB;
  }
}

/** Publishes the quota within 2 s; otherwise the periodic job does it. Does not throw. */
export async function publishStorageQuotaSoon(
  deps: PublishDeps & Pick<Deps, "log">,
  orgId: string,
): Promise<void> {
  try {
    await publishStorageQuota(deps, orgId, { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    const message = messageOf(error);
    deps.log.warn({ orgId, message }, "the storage quota is not published yet; the job retries");
  }
}

async function writeQuota(
  deps: PublishDeps,
  orgId: string,
  quotaBytes: number | undefined,
  options: { timeoutMs?: number },
): Promise<void> {
  // null removes the setting (RFC 7386); 0 would be no limit to the storage.
  const patch = { spec: { quotaBytes: quotaBytes ?? null } };
  const write = () =>
    deps.kube.mergePatch(storageInventoryKind, organizationNamespace(orgId), STORAGE_INVENTORY_NAME, patch, {
      fieldManager: MANAGER_APISERVER,
      ...options,
    });
  try {
    await write();
  } catch (error) {
    if (!(error instanceof KubeError && error.isNotFound)) throw error;
    const namespace = await ensureNamespace(deps, orgId, options);
    await ensureInventory(deps.kube, { namespace, orgId }, options);
    await write();
  }
}
