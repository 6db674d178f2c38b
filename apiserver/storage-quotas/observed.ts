import {
  STORAGE_INVENTORY_NAME,
  type StorageInventoryStatus,
  storageInventoryKind,
} from "../../shared/crd/storage-inventory.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Deps } from "../deps.ts";
import { organizationNamespace } from "../organizations/index.ts";

const READ_TIMEOUT_MS = 2000;
const MAX_AGE_MS = 15 * 60_000;

/** What the storage itself reports, in bytes; null: no figure. */
export interface ObservedStorage {
  quotaBytes: number | null;
  usedBytes: number | null;
}

const NO_FIGURE: ObservedStorage = { quotaBytes: null, usedBytes: null };

/** The figures that a status publishes; those observed more than 15 minutes ago are none. */
export function readStorageFigures(status: StorageInventoryStatus | undefined, now: Date): ObservedStorage {
  const observedAt = Date.parse(status?.observedAt ?? "");
  if (!(now.getTime() - observedAt <= MAX_AGE_MS)) return NO_FIGURE;
  return { quotaBytes: status?.quotaBytes ?? null, usedBytes: status?.usedBytes ?? null };
}

/** The figures of an organization, read from the management cluster within 2 s; a failure is no figure, and logged. */
export async function observeStorage(
  { kube, log, now }: Pick<Deps, "kube" | "log" | "now">,
  orgId: string,
): Promise<ObservedStorage> {
  try {
    const inventory = await kube.get(
      storageInventoryKind,
      organizationNamespace(orgId),
      STORAGE_INVENTORY_NAME,
      { timeoutMs: READ_TIMEOUT_MS },
    );
    return readStorageFigures(inventory?.status, now());
  } catch (error) {
    log.warn({ orgId, message: messageOf(error) }, "the storage inventory cannot be read");
    return NO_FIGURE;
  }
}
