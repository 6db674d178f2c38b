import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { JsonPatchOperation } from "../../../shared/kube/client.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";

/** One change of an object. */
export interface ObjectPatch {
  /** The fields of `spec` that change, as in a merge patch (RFC 7386): null removes one. */
  spec: Readonly<Record<string, unknown>>;
  /** Annotations to set in addition to the request id. */
  annotations?: Readonly<Record<string, string>>;
  requestId: string;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The JSON patch (RFC 6902) of a change that holds as long as the spec of the object (`metadata.generation`) and its last
 * request by REST are those that were read: the operator writes a status at any time, and a condition on resourceVersion
 * would fail then. An object that REST has not written yet has no request id, and is compared by resourceVersion.
 */
export function composeOperations(
  live: KubeObject & { spec?: object },
  { spec, annotations = {}, requestId }: ObjectPatch,
): JsonPatchOperation[] {
  const { uid, generation, resourceVersion, annotations: present } = live.metadata;
  const lastRequestId = present?.[ANNOTATION_REQUEST_ID];
  const current: Fields = { ...live.spec };
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    ...(lastRequestId === undefined
      ? [operation("test", ["metadata", "resourceVersion"], resourceVersion)]
      : [
          operation("test", ["metadata", "generation"], generation),
          operation("test", ["metadata", "annotations", ANNOTATION_REQUEST_ID], lastRequestId),
        ]),
    ...(present === undefined ? [operation("add", ["metadata", "annotations"], {})] : []),
    ...Object.entries({ ...annotations, [ANNOTATION_REQUEST_ID]: requestId }).map(([name, value]) =>
      operation("add", ["metadata", "annotations", name], value),
    ),
    ...Object.entries(spec).flatMap(([field, value]) => {
      const merged = mergeValue(current[field], value);
      if (merged !== undefined) return [operation("add", ["spec", field], merged)];
      return current[field] === undefined ? [] : [operation("remove", ["spec", field])];
    }),
  ];
}

/** Undefined = removed. */
function mergeValue(current: unknown, patch: unknown): unknown {
  if (patch === null) return undefined;
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(current) ? { ...current } : {};
  for (const [field, value] of Object.entries(patch)) {
    const next = mergeValue(merged[field], value);
    if (next === undefined) delete merged[field];
    else merged[field] = next;
  }
  return merged;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function operation(
  op: "add" | "remove" | "test",
  path: readonly string[],
  value?: unknown,
): JsonPatchOperation {
  const pointer = path.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return value === undefined ? { op, path: pointer } : { op, path: pointer, value };
}
