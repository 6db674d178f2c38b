import type { core } from "zod";

const KEY = "__proto__";

/**
 * An issue for each object of parsed JSON that has the key `__proto__`. zod leaves it out of maps and of objects with
 * unknown fields without a word, so that a caller would be told that it was stored.
 */
export function findPrototypeKeys(input: unknown, path: readonly PropertyKey[] = []): core.$ZodIssue[] {
  if (typeof input !== "object" || input === null) return [];
  if (Array.isArray(input))
    return input.flatMap((entry, index) => findPrototypeKeys(entry, [...path, index]));
  const inside = Object.entries(input).flatMap(([key, value]) => findPrototypeKeys(value, [...path, key]));
  if (!Object.hasOwn(input, KEY)) return inside;
  return [{ code: "unrecognized_keys", keys: [KEY], path: [...path], message: "" }, ...inside];
}
