import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";

/**
 * Who owns one field of an object's spec by server-side apply: the manager's name when the field stands in an Apply
 * entry of anybody but `self`, undefined when nobody applies it. Entries of plain updates own nothing in this sense:
 * what `kubectl edit` set may be changed by REST, what GitOps applies may not, for it would be set back.
 * Format: structured-merge-diff's fieldsV1, `{"f:spec": {"f:desiredNodes": {}}}`.
 */
export function findApplyOwner(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  specField: string,
  self: string,
): string | undefined {
  const entry = managedFields?.find(
    ({ manager, operation, subresource, fieldsV1 }) =>
      operation === "Apply" &&
      manager !== self &&
      subresource === undefined &&
      hasField(fieldsV1?.["f:spec"], `f:${specField}`),
  );
  return entry?.manager;
}

function hasField(node: unknown, key: string): boolean {
  return typeof node === "object" && node !== null && key in node;
}
