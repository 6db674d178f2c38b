import { ANNOTATION_REPLACE_PREFIX, OBJECT_ANNOTATIONS } from "../shared/crd/names.ts";
import type { KubeObject } from "../shared/kube/kind.ts";

/**
 * An object of Marina's kinds with no other annotations than Marina's, which alone are read: a pipeline may set 256 KiB of others
 * on each object. `annotations` is there where the object has any. Never write it back whole.
 */
export function keepOwnAnnotations<T extends KubeObject>(object: T): T {
  const { annotations } = object.metadata;
  if (annotations === undefined) return object;
  const kept = Object.fromEntries(Object.entries(annotations).filter(([name]) => isOwn(name)));
  return { ...object, metadata: { ...object.metadata, annotations: kept } };
}

function isOwn(name: string): boolean {
  return OBJECT_ANNOTATIONS.includes(name) || name.startsWith(ANNOTATION_REPLACE_PREFIX);
}
