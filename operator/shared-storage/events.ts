import { findCondition } from "../../shared/controller/conditions.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import { LABEL_SOURCE } from "../../shared/crd/names.ts";
import {
  type StorageInventory,
  type StorageInventoryStatus,
  storageInventoryKind,
} from "../../shared/crd/storage-inventory.ts";
import { formatBytes } from "./status.ts";

/** What the reconcile did to the storage before it wrote the status. */
export type StorageChange = "created" | "limited";

interface InventoryEvent {
  type: "Normal" | "Warning";
  reason: string;
  action: "Create" | "Update" | "Observe";
  note: string;
}

/**
 * The Events of an inventory: its pool was created, its limit changed or reached, or the storage stopped doing what is wanted.
 */
export function composeInventoryEvents(
  { metadata, status: last }: StorageInventory,
  next: StorageInventoryStatus,
  change: StorageChange | undefined,
): RecordedEvent[] {
  const events: InventoryEvent[] = [];
  const ready = findCondition(next.conditions, "Ready");
  const isReady = ready?.status === "True";
  const limit = formatBytes(next.quotaBytes ?? 0);
  if (isReady && change === "created") {
    const note = `The shared storage was created with a limit of ${limit}.`;
    events.push({ type: "Normal", reason: "StorageCreated", action: "Create", note });
  }
  if (isReady && change === "limited") {
    const note = `The limit of the shared storage is ${limit}.`;
    events.push({ type: "Normal", reason: "QuotaChanged", action: "Update", note });
  }
  if (!isFull(last) && isFull(next)) {
    const note = `The shared storage has reached its limit of ${limit}.`;
    events.push({ type: "Warning", reason: "QuotaReached", action: "Observe", note });
  }
  const before = findCondition(last?.conditions, "Ready");
  if (ready?.status === "False" && before?.reason !== ready.reason) {
    const { reason, message: note } = ready;
    events.push({ type: "Warning", reason, action: "Observe", note });
  }
  const about = {
    regarding: referTo(storageInventoryKind, metadata),
    labels: { [LABEL_SOURCE]: "operator" },
  };
  return events.map((event) => ({ ...about, ...event }));
}

function isFull(status: StorageInventoryStatus | undefined): boolean {
  const { quotaBytes, usedBytes } = status ?? {};
  return quotaBytes !== undefined && usedBytes !== undefined && usedBytes >= quotaBytes;
}
