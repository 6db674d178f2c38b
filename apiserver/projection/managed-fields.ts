import { MANAGER_APISERVER_NETWORK } from "../../shared/crd/names.ts";
import type { ManagedFieldsEntry, ObjectMeta } from "../../shared/kube/kind.ts";

/**
 * When an object was last changed: the newest managedFields time outside the status subresource, its
 * creation at least. Times have whole seconds, as the Kubernetes API writes them.
 */
export function updatedAtOf(metadata: ObjectMeta): Date {
  return newestOf(metadata, (entry) => entry.subresource !== "status");
}

/** When the network policy was last set by REST, which writes it under a field manager of its own. */
export function networkUpdatedAtOf(metadata: ObjectMeta): Date {
  return newestOf(metadata, (entry) => entry.manager === MANAGER_APISERVER_NETWORK);
}

function newestOf(metadata: ObjectMeta, counts: (entry: ManagedFieldsEntry) => boolean): Date {
  const times = (metadata.managedFields ?? [])
    .filter((entry) => entry.time !== undefined && counts(entry))
    .map((entry) => Date.parse(entry.time ?? ""));
  return new Date(Math.max(Date.parse(metadata.creationTimestamp ?? "") || 0, ...times));
}
