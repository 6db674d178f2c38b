import { MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import type { ManagedFieldsEntry } from "../../../shared/kube/kind.ts";
import { ApiError } from "../../http/errors.ts";

/**
 * The manager that owns one field of an object's spec (a dotted path) by server-side apply; undefined when no manager but
 * `self` applies it. Entries of plain updates do not count: what `kubectl edit` set may be changed by REST, what GitOps
 * applies may not, for it would be set back. Format: structured-merge-diff's fieldsV1,
 * `{"f:spec": {"f:desiredNodes": {}}}`.
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
      hasField(fieldsV1?.["f:spec"], specField.split(".")),
  );
  return entry?.manager;
}

function hasField(node: unknown, [first, ...rest]: readonly string[]): boolean {
  if (typeof node !== "object" || node === null) return false;
  if (first === undefined) return true;
  return hasField((node as Readonly<Record<string, unknown>>)[`f:${first}`], rest);
}

/**
 * Throws 409 managed_elsewhere, naming the field by its wire name and its manager, when one of these fields of the
 * spec is owned by another manager's Apply.
 */
export function requireUnmanaged(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  fields: readonly string[],
  wireNames: Readonly<Record<string, string>>,
): void {
  for (const field of fields) {
    const owner = findApplyOwner(managedFields, field, MANAGER_APISERVER);
    if (owner !== undefined)
      throw new ApiError(
        "managed_elsewhere",
        `${wireNames[field] ?? field} is managed by ${owner}; change it there, or it would be set back.`,
      );
  }
}
