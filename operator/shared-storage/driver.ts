/** The shared storage of one organization, as the storage reports it. */
export interface StoragePool {
  orgId: string;
  /** The limit in force, in bytes; undefined: none. */
  quotaBytes: number | undefined;
  usedBytes: number;
}

/**
 * A storage in which each organization has a separate pool. Every method has a deadline, reads responses
 * of limited size, and rejects with a StorageError only; running it again is safe.
 */
export interface StorageDriver {
  /** The pools of all organizations, and no others. */
  listPools(signal: AbortSignal): Promise<StoragePool[]>;
  /** Undefined when the organization has none. */
  readPool(orgId: string, signal: AbortSignal): Promise<StoragePool | undefined>;
  /** Creates a missing pool, with its limit in force before anyone can write to it. `quotaBytes` is at least 1. */
  ensurePool(orgId: string, quotaBytes: number, signal: AbortSignal): Promise<void>;
  /** Sets the limit of an existing pool, also below what it holds. `quotaBytes` is at least 1: 0 would be no limit. */
  setQuota(orgId: string, quotaBytes: number, signal: AbortSignal): Promise<void>;
  /** Removes the pool with all its data; a missing one counts as removed. */
  removePool(orgId: string, signal: AbortSignal): Promise<void>;
}

/**
 * `unavailable`: the storage does not answer, or not sensibly, and may do so later. `rejected`: it refused, as a wrong
 * password or a value that it does not accept, and a person has to act.
 */
export type StorageErrorKind = "unavailable" | "rejected";

/** A failure of the storage. The message is for tenants too: it holds no address and no credential. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly kind: StorageErrorKind;

  constructor(kind: StorageErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Throws a RangeError for a limit that the storage would take for none. */
export function requireLimit(quotaBytes: number): void {
  if (!Number.isSafeInteger(quotaBytes) || quotaBytes < 1)
    throw new RangeError(`a limit must be at least 1 byte, but is ${quotaBytes}`);
}
