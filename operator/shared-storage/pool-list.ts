import type { StorageError, StoragePool } from "./driver.ts";

/** A pool, and when its figures were read. */
export interface ListedPool extends StoragePool {
  observedAt: Date;
}

export type Listing =
  /** Nothing is known of the storage yet. */
  | { kind: "none" }
  | { kind: "listed"; pools: ReadonlyMap<string, ListedPool> }
  | { kind: "failed"; error: StorageError };

/** What the last rounds found in the storage. */
export interface PoolList {
  read(): Listing;
  /** Replaces the whole list. */
  replace(pools: readonly StoragePool[], observedAt: Date): void;
  /** One pool was read by itself after a change; undefined: it does not exist. */
  update(orgId: string, pool: StoragePool | undefined, observedAt: Date): void;
  /** A list failed. A single failure keeps the last list: a failure is reported from the second in a row on. */
  fail(error: StorageError): void;
}

/** Creates an empty list, kept in memory. */
export function createPoolList(): PoolList {
  let listing: Listing = { kind: "none" };
  let hasFailed = false;
  return {
    read: () => listing,
    replace(pools, observedAt) {
      hasFailed = false;
      listing = {
        kind: "listed",
        pools: new Map(pools.map((pool) => [pool.orgId, { ...pool, observedAt }])),
      };
    },
    update(orgId, pool, observedAt) {
      if (listing.kind !== "listed") return;
      const pools = new Map(listing.pools);
      if (pool === undefined) pools.delete(orgId);
      else pools.set(orgId, { ...pool, observedAt });
      listing = { kind: "listed", pools };
    },
    fail(error) {
      if (hasFailed || listing.kind === "none") listing = { kind: "failed", error };
      hasFailed = true;
    },
  };
}
