import { LABEL_ORG_ID, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Deps } from "../deps.ts";

/** Makes sure that the StorageInventory of an organization exists in its Namespace. Rejects with a KubeError. */
export async function ensureInventory(
  kube: Deps["kube"],
  { namespace, orgId }: { namespace: string; orgId: string },
  options: { timeoutMs?: number } = {},
): Promise<void> {
  const metadata = {
    name: STORAGE_INVENTORY_NAME,
    namespace,
    labels: { [LABEL_ORG_ID]: orgId },
  };
  try {
    await kube.create(
      storageInventoryKind,
      { metadata, spec: {} },
      { fieldManager: MANAGER_APISERVER, ...options },
    );
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
}
