import type { KubeObject, ObjectMeta } from "./kind.ts";

/** Orders objects by creation time, the oldest first; the uid decides between two of one second. */
export function compareAge(left: ObjectMeta, right: ObjectMeta): number {
  return ageKey(left) < ageKey(right) ? -1 : 1;
}

/** Whether `left` is another object than `right`, and older. */
export function isOlder(left: ObjectMeta, right: ObjectMeta): boolean {
  return left.uid !== right.uid && ageKey(left) < ageKey(right);
}

/** The oldest of these objects; undefined for none. */
export function findOldest<T extends KubeObject>(objects: readonly T[]): T | undefined {
  return objects.toSorted((left, right) => compareAge(left.metadata, right.metadata))[0];
}

function ageKey({ creationTimestamp, uid }: ObjectMeta): string {
  return `${creationTimestamp} ${uid}`;
}
