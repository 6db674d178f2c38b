import { isDeepStrictEqual } from "node:util";
import {
  type NewCondition,
  NOT_STALLED,
  setConditions,
  withOwnConditions,
} from "../../shared/controller/conditions.ts";
import { truncateConditionMessage } from "../../shared/crd/conditions.ts";
import {
  BYTES_PER_GIB,
  type StorageInventory,
  type StorageInventoryConditionType,
  type StorageInventoryStatus,
  storageInventoryConditionTypes,
} from "../../shared/crd/storage-inventory.ts";
import { formatTime, remainingMs } from "../../shared/program/time.ts";
import type { StorageError } from "./driver.ts";
import type { ListedPool } from "./pool-list.ts";

/** Figures that did not move are written this often: readers take those of more than 15 minutes for none. */
const REFRESH_AFTER_MS = 5 * 60_000;

/** The result of a reconcile. */
export type InventoryOutcome =
  /** The storage enforces what is wanted. */
  | { kind: "observed"; pool: ListedPool }
  | { kind: "failed"; error: StorageError }
  | { kind: "stalled"; reason: string; message: string };

/**
 * The whole status of an inventory; undefined when it may stay unchanged: no figure changed, and the time of the
 * figures is not older than 5 minutes. Without new figures the last ones stay, with their time.
 */
export function composeInventoryStatus(
  { metadata, status: found }: StorageInventory,
  outcome: InventoryOutcome,
  now: Date,
): StorageInventoryStatus | undefined {
  const last = found && withOwnConditions(found, storageInventoryConditionTypes);
  const generation = metadata.generation ?? 0;
  const conditions = setConditions<StorageInventoryConditionType>(
    last?.conditions ?? [],
    decideConditions(outcome),
    now,
    generation,
  );
  const status = { observedGeneration: generation, conditions, ...decideFigures(last, outcome) };
  if (isDeepStrictEqual(status, last)) return undefined;
  const isSame = isDeepStrictEqual(withoutTime(status), last && withoutTime(last));
  const isRecent = remainingMs(last?.observedAt, REFRESH_AFTER_MS, now) !== undefined;
  return isSame && isRecent ? undefined : status;
}

function decideFigures(last: StorageInventoryStatus | undefined, outcome: InventoryOutcome) {
  if (outcome.kind !== "observed") {
    return {
      ...(last?.quotaBytes !== undefined && { quotaBytes: last.quotaBytes }),
      ...(last?.usedBytes !== undefined && { usedBytes: last.usedBytes }),
      ...(last?.observedAt !== undefined && { observedAt: last.observedAt }),
    };
  }
  const { quotaBytes, usedBytes, observedAt } = outcome.pool;
  return {
    ...(quotaBytes !== undefined && { quotaBytes }),
    usedBytes,
    observedAt: formatTime(observedAt),
  };
}

function withoutTime(status: StorageInventoryStatus) {
  return { ...status, observedAt: undefined };
}

function decideConditions(outcome: InventoryOutcome): NewCondition<StorageInventoryConditionType>[] {
  if (outcome.kind === "observed") {
    const message = `The limit of ${formatBytes(outcome.pool.quotaBytes ?? 0)} is in force.`;
    return [
      { type: "Ready", status: "True", reason: "Available", message },
      { type: "Reconciling", status: "False", reason: "ReconciliationSucceeded", message },
      NOT_STALLED,
    ];
  }
  const isWaiting = outcome.kind === "failed" && outcome.error.kind === "unavailable";
  const { reason, message } = outcome.kind === "stalled" ? outcome : describeFailure(outcome.error);
  const cause = { reason, message: truncateConditionMessage(message) };
  return [
    { type: "Ready", status: "False", ...cause },
    { type: "Reconciling", status: isWaiting ? "True" : "False", ...cause },
    isWaiting ? NOT_STALLED : { type: "Stalled", status: "True", ...cause },
  ];
}

function describeFailure({ kind, message }: StorageError): { reason: string; message: string } {
  return kind === "unavailable"
    ? {
        reason: "StorageUnavailable",
        message: `The shared storage does not respond as it should: ${message}. It is asked again automatically.`,
      }
    : {
        reason: "RejectedByStorage",
        message: `The shared storage refused: ${message}. Its operator has to act; it is asked again automatically.`,
      };
}

/** A number of bytes for people: in GiB where it is a whole number of them. */
export function formatBytes(bytes: number): string {
  return bytes > 0 && bytes % BYTES_PER_GIB === 0 ? `${bytes / BYTES_PER_GIB} GiB` : `${bytes} bytes`;
}
