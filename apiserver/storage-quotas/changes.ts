import { MANAGER_APISERVER } from "../../shared/crd/names.ts";
import {
  BYTES_PER_GIB,
  STORAGE_INVENTORY_NAME,
  storageInventoryKind,
} from "../../shared/crd/storage-inventory.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import { ensureInventory, ensureNamespace, organizationNamespace } from "../organizations/index.ts";
import { auditStorageQuota } from "./present.ts";
import { readStorageQuota, type StorageQuota, updateStorageQuota } from "./store.ts";

interface StorageQuotaChange {
  orgId: string;
  before: StorageQuota;
  /** The limit to set, in GiB; null is the platform's default. */
  configuredGB: number | null;
  defaultGB: number;
  /** Bytes that the organization stores; null when that is not known. */
  usedBytes: number | null;
}

/**
 * Sets the storage quota of a locked organization. Throws 409 quota_below_usage for a lower limit than before that is below what
 * is stored. That check is advisory: it is skipped without a figure, and what is stored may grow meanwhile.
 */
export async function setStorageQuota(
  tx: Queryable,
  author: Author,
  { orgId, before, configuredGB, defaultGB, usedBytes }: StorageQuotaChange,
): Promise<StorageQuota> {
  const limitGB = configuredGB ?? defaultGB;
  if (isBelowUsage({ limitGB, formerGB: before.configuredGB ?? defaultGB, usedBytes }))
    throw new ApiError(
      "quota_below_usage",
      `The organization stores ${usedBytes} bytes, more than the ${limitGB} GiB that it would be limited to.`,
    );
  const after = { configuredGB, version: before.version + 1 };
  await updateStorageQuota(tx, orgId, after);
  await recordAudit(tx, author, {
    action: "organization.set_storage_quota",
    orgId,
    target: { kind: "organization", id: orgId },
    before: auditStorageQuota(before),
    after: auditStorageQuota(after),
    result: "done",
  });
  return after;
}

/** Whether a limit is lowered below what is stored; never without a figure. */
export function isBelowUsage({
  limitGB,
  formerGB,
  usedBytes,
}: {
  limitGB: number;
  formerGB: number;
  usedBytes: number | null;
}): boolean {
  return usedBytes !== null && limitGB < formerGB && limitGB * BYTES_PER_GIB < usedBytes;
}

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
