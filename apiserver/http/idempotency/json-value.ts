/** The text of a JSON value by which equal values have equal texts, whatever their blanks and the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    isObject(entry)
      ? Object.fromEntries(Object.entries(entry).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : entry,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
