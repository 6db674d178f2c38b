import { hash } from "node:crypto";
import type { Kind, KubeObject } from "../kube/kind.ts";
import type { Step } from "./plan.ts";

/**
 * The object with a hash of itself in this annotation. Server-side apply removes what a manager no longer sends, and
 * only the hash shows what was sent before: the live object alone does not.
 */
export function withAppliedHash<T extends KubeObject>(object: T, annotation: string): T {
  const annotations = { ...object.metadata.annotations, [annotation]: hashOf(object) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/**
 * Whether applying `desired` (made by `withAppliedHash`) would change nothing: the live object carries the same hash,
 * and every desired field still has its desired value.
 */
export function isInSync(desired: KubeObject, live: KubeObject | undefined): boolean {
  return live !== undefined && contains(live, desired);
}

/** The apply of `desired` (made by `withAppliedHash`), unless it would change nothing. */
export function planApply<T extends KubeObject>(kind: Kind<T>, desired: T, live: T | undefined): Step[] {
  return isInSync(desired, live) ? [] : [{ verb: "apply", kind: kind as Kind<KubeObject>, object: desired }];
}

/** Lists whose items have a name are compared by name, as server-side apply merges them; others item by item. */
function contains(live: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    if (!Array.isArray(live)) return false;
    if (isNamedList(desired) && isNamedList(live)) {
      return desired.every((item) => live.some((other) => other.name === item.name && contains(other, item)));
    }
    return live.length === desired.length && desired.every((item, index) => contains(live[index], item));
  }
  if (isRecord(desired)) {
    return (
      isRecord(live) &&
      Object.entries(desired).every(([key, value]) => value === undefined || contains(live[key], value))
    );
  }
  return live === desired;
}

/** A short hash of plain data, whatever the order of its keys. */
export function hashOf(value: unknown): string {
  return hash("sha256", canonicalJson(value)).slice(0, 16);
}

/** JSON with sorted keys, so that two equal objects have one text. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? "null";
  const entries: string[] = [];
  for (const key of Object.keys(value).sort())
    if (value[key] !== undefined) entries.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${entries.join(",")}}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNamedList(list: unknown[]): list is { name: string }[] {
  return list.length > 0 && list.every((item) => isRecord(item) && typeof item.name === "string");
}
