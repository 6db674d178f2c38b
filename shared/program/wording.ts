/**
 * A number with its noun: "1 node", "3 nodes". `plural` is only needed for a noun whose plural is not its own plus "s".
 */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount} ${amount === 1 ? noun : plural}`;
}

/**
 * The beginning of a text, at most so many UTF-16 units of it, well formed: half a surrogate pair at the cut is left out.
 * Postgres stores no other text as JSON, and strict readers of JSON refuse it.
 */
export function truncateText(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .replace(/[\uD800-\uDBFF]$/, "")
    .toWellFormed();
}

/** For the names in a sentence: the rest of it, with the next step, is shorter than a message may be. */
const MAX_LISTED = 6;
const MAX_LISTED_LENGTH = 640;

/** Names in a sentence: "a, b", or the first six, fewer where they are long, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, MAX_LISTED);
  while (listed.length > 1 && listed.join(", ").length > MAX_LISTED_LENGTH) listed.pop();
  const more = names.length - listed.length;
  return more > 0 ? `${listed.join(", ")}, and ${more} more` : listed.join(", ");
}

/** At most so many suggestions are named. */
const MAX_NAMES = 3;
/** Nothing has a longer name; the work of a comparison grows with its square. */
const MAX_LENGTH = 64;
const MAX_EDITS = 3;

/**
 * The names that are most like a word that is none of them, the most like first, 3 at most: those with the same letters
 * and digits, those that contain it, and those that a third of its characters changed make. The work of one call is
 * bounded by the number of names.
 */
export function findNearest(word: string, names: readonly string[]): string[] {
  if (word.length > MAX_LENGTH) return [];
  const typed = normalize(word);
  if (typed === "") return [];
  return names
    .filter((name) => name !== "" && name.length <= MAX_LENGTH)
    .map((name) => ({ name, edits: countEdits(typed, normalize(name)) }))
    .filter(({ name, edits }) => isNear(typed, normalize(name), edits))
    .toSorted((one, other) => one.edits - other.edits)
    .slice(0, MAX_NAMES)
    .map(({ name }) => name);
}

/** The end of a sentence on an unknown word: "; did you mean `a` or `b`?", or nothing. */
export function suggestNearest(word: string, names: readonly string[]): string {
  const nearest = findNearest(word, names).map((name) => `\`${name}\``);
  return nearest.length === 0 ? "" : `; did you mean ${nearest.join(" or ")}?`;
}

function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function isNear(typed: string, name: string, edits: number): boolean {
  if (typed.length >= 3 && name.includes(typed)) return true;
  return edits <= Math.min(MAX_EDITS, Math.ceil(Math.max(typed.length, name.length) / 3));
}

/** The number of characters to add, remove or replace (Levenshtein). */
function countEdits(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [row, character] of Array.from(one).entries()) {
    const line = [row + 1];
    for (const [column, compared] of Array.from(other).entries()) {
      const replaced = (above[column] ?? 0) + (character === compared ? 0 : 1);
      line.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? 0;
}
