import type { Organization } from "../../shared/crd/organization.ts";
import type { StorageInventory, StorageInventorySpec } from "../../shared/crd/storage-inventory.ts";
import { findIdentityProblem, isDeleting } from "../identity/identity.ts";
import type { Listing } from "./pool-list.ts";
import type { InventoryOutcome } from "./status.ts";

/** All that is known about one inventory when it is reconciled: plain data, no client. */
export interface ObservedInventory {
  inventory: StorageInventory;
  organization: Organization;
  listing: Listing;
  /** The limit of an organization whose inventory names none. */
  defaultQuotaBytes: number;
}

export type InventoryDecision =
  /** There is nothing to do before the next round, if ever. */
  | { kind: "ignore" }
  /** The storage has to be changed, then its pool read again. */
  | { kind: "create" | "limit"; orgId: string; quotaBytes: number }
  | { kind: "report"; outcome: InventoryOutcome };

/**
 * Decides what to do for one inventory. A deleted one changes nothing: its pool is removed by the rounds, much later.
 */
export function reconcileInventory(observed: ObservedInventory): InventoryDecision {
  const { inventory, organization, listing, defaultQuotaBytes } = observed;
  if (isDeleting(inventory)) return { kind: "ignore" };
  const problem = findIdentityProblem(organization, undefined);
  if (problem !== undefined) return { kind: "report", outcome: { kind: "stalled", ...problem } };
  if (listing.kind === "none" || organization.kind !== "known") return { kind: "ignore" };
  if (listing.kind === "failed") return { kind: "report", outcome: { kind: "failed", error: listing.error } };
  const { id: orgId } = organization;
  const quotaBytes = decideQuota(inventory.spec, defaultQuotaBytes);
  const pool = listing.pools.get(orgId);
  if (pool === undefined) return { kind: "create", orgId, quotaBytes };
  if (pool.quotaBytes !== quotaBytes) return { kind: "limit", orgId, quotaBytes };
  return { kind: "report", outcome: { kind: "observed", pool } };
}

/**
 * The wanted limit. An inventory that names none gets the default, which is written: a storage keeps a limit that is
 * merely absent.
 */
function decideQuota({ quotaBytes }: StorageInventorySpec, defaultQuotaBytes: number): number {
  return quotaBytes === undefined || quotaBytes < 1 ? defaultQuotaBytes : quotaBytes;
}
