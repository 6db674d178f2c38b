/** What a search finds, in lower case. */
export interface Searched {
  /** The words of its heading. */
  title: string;
  /** Names that programs use: ids, methods, parameters, fields, codes. */
  names: readonly string[];
  text: string;
}

/** More words of one search are ignored. */
const MAX_WORDS = 12;

/** Words of a question that say nothing about what is looked for. */
const FILLERS = new Set(
  "a an and are at be by can could do does for from get gets how i in into is it its make my of on one or our please should that the their there this to use using want was we what when where which who why will with would you your".split(
    " ",
  ),
);

/** What people say, and the words of the reference. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    add: ["create", "invite"],
    change: ["update", "set"],
    cost: ["usage", "invoice", "rate"],
    destroy: ["delete"],
    drop: ["delete"],
    edit: ["update", "set"],
    history: ["audit", "events"],
    login: ["authentication", "kubeconfig"],
    modify: ["update", "set"],
    new: ["create"],
    password: ["token", "credential"],
    price: ["rate", "usage"],
    remove: ["delete"],
    resize: ["update"],
    retry: ["idempotency"],
    scale: ["update"],
    see: ["list", "get"],
    show: ["list", "get"],
    start: ["create"],
    user: ["member"],
    view: ["list", "get"],
  }),
);

/** The words of a search that say what is looked for; all of them when a search has only fillers. */
export function toSearchWords(query: string): string[] {
  const words = query
    .toLowerCase()
    .split(/[\s?!,;()"'“”]+/)
    .map((word) => word.replace(/[.:]+$/, ""))
    .filter((word) => word !== "");
  const telling = words.filter((word) => !FILLERS.has(word));
  return [...new Set(telling.length === 0 ? words : telling)].slice(0, MAX_WORDS);
}

/**
 * The entries in which every word is found, a plural as its singular and a word as its synonym, the best first: words
 * of a title count most, then names, then text, and a title counts more the less else it says. Equal ones keep their
 * order.
 */
export function rank<Entry extends Searched>(entries: readonly Entry[], words: readonly string[]): Entry[] {
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((left, right) => right.score - left.score)
    .map(({ entry }) => entry);
}

/** 0 when a word is not found. */
function scoreOf(entry: Searched, words: readonly string[]): number {
  const titleWords = entry.title.split(/[^a-z0-9_]+/).map(toSingular);
  let sum = 0;
  let inTitle = 0;
  for (const word of words) {
    const score = Math.max(
      scoreOfWord(entry, titleWords, word),
      ...(SYNONYMS.get(word) ?? []).map((synonym) => scoreOfWord(entry, titleWords, synonym)),
    );
    if (score === 0) return 0;
    sum += score;
    if (score >= IN_TITLE) inTitle += 1;
  }
  return sum + (inTitle === 0 ? 0 : (inTitle / titleWords.length) * IN_TITLE);
}

const IS_NAME = 10;
const IN_TITLE = 8;
const PART_OF_TITLE = 4;
const PART_OF_NAME = 3;
const IN_TEXT = 1;

function scoreOfWord({ title, names, text }: Searched, titleWords: readonly string[], word: string): number {
  const singular = toSingular(word);
  if (names[0] === word) return IS_NAME;
  if (titleWords.includes(singular)) return IN_TITLE;
  if (title.includes(singular)) return PART_OF_TITLE;
  if (names.some((name) => name === word)) return PART_OF_TITLE;
  if (names.some((name) => name.includes(singular))) return PART_OF_NAME;
  return text.includes(singular) ? IN_TEXT : 0;
}

function toSingular(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}
