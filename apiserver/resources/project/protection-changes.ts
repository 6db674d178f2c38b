import { isProtected, type Protectable } from "../../../shared/crd/fields.ts";
import type { Change } from "../../../shared/kube/reflector.ts";

/** Whether a change begins or ends the protection of an object; no other asks what is protected in its Namespace. */
export function changesProtection({
  type,
  object,
  previous,
}: Pick<Change<Protectable>, "type" | "object" | "previous">): boolean {
  const before = previous ?? (type === "deleted" ? object : undefined);
  const isProtectedNow = type !== "deleted" && isProtected(object);
  return isProtectedNow !== (before !== undefined && isProtected(before));
}
