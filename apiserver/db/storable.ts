/**
 * The given value with U+FFFD for each NUL in its strings. Kubernetes accepts NUL in annotations and other free text;
 * Postgres stores it neither in text nor in jsonb (https://www.postgresql.org/docs/current/datatype-json.html). A value
 * without NUL is returned itself.
 */
export function toStorable<T>(value: T): T {
  return hasNul(value) ? (replaceNul(value) as T) : value;
}

function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0");
  if (typeof value !== "object" || value === null) return false;
  for (const key in value)
    if (key.includes("\0") || hasNul((value as Record<string, unknown>)[key])) return true;
  return false;
}

function replaceNul(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD");
  if (Array.isArray(value)) return value.map(replaceNul);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replaceAll("\0", "\uFFFD"), replaceNul(inner)]),
  );
}
