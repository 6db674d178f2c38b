import type { StorageInventory, StorageInventoryStatus } from "../../shared/crd/storage-inventory.ts";

/** An organization of tests, by its id. */
export const ORG_ID = "0190a000-0000-7000-8000-000000000001";
export const NAMESPACE = `org-${ORG_ID}`;
export const GIB = 2 ** 30;

/** The inventory of that organization. */
export function anInventory(
  spec: StorageInventory["spec"] = {},
  status?: StorageInventoryStatus,
): StorageInventory {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "StorageInventory",
    metadata: { name: "shared-storage", namespace: NAMESPACE, uid: "u", generation: 1 },
    spec,
    ...(status && { status }),
  };
}
