/** Words in use at a time; when there are more, most of them were used once. */
const MAX_WORDS = 20_000;

const words = new Map<string, string>();

interface Conditioned {
  status?: { conditions?: Record<string, unknown>[] };
}

/**
 * Has the conditions of an object share the text of its words with those of every other object, in place: the same few
 * reasons and sentences stand in each of tens of thousands.
 */
export function internConditions(object: object): void {
  const conditions = (object as Conditioned).status?.conditions;
  if (!Array.isArray(conditions)) return;
  for (const condition of conditions) {
    for (const name of Object.keys(condition)) {
      const value = condition[name];
      if (typeof value === "string") condition[name] = intern(value);
    }
  }
}

function intern(text: string): string {
  const known = words.get(text);
  if (known !== undefined) return known;
  if (words.size >= MAX_WORDS) words.clear();
  words.set(text, text);
  return text;
}
