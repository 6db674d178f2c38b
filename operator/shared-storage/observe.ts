import { findNamespaceOrganization, type Organization } from "../../shared/crd/organization.ts";
import type { StorageInventory } from "../../shared/crd/storage-inventory.ts";
import type { Caches } from "../caches.ts";
import type { Listing, PoolList } from "./pool-list.ts";

/** All that is known about one inventory when it is reconciled: plain data, no client. */
export interface ObservedInventory {
  inventory: StorageInventory;
  organization: Organization;
  listing: Listing;
  /** The limit of an organization whose inventory names none. */
  defaultQuotaBytes: number;
}

/** Gathers an inventory from the caches; undefined = it is deleted. */
export function observeInventory(
  caches: Pick<Caches, "inventories" | "namespaces">,
  pools: Pick<PoolList, "read">,
  key: string,
  defaultQuotaBytes: number,
): ObservedInventory | undefined {
  const inventory = caches.inventories.get(key);
  if (inventory === undefined) return undefined;
  const organization = findNamespaceOrganization(caches.namespaces, inventory.metadata.namespace);
  return { inventory, organization, listing: pools.read(), defaultQuotaBytes };
}
