import MiniSearch from "minisearch";
import { stemmer } from "stemmer";

/** What a search finds. */
export interface Searched {
  id: string;
  /** The words of its heading. */
  title: string;
  /** Names that programs use: ids, methods, parameters, fields, codes. The first is its own. */
  names: readonly string[];
  text: string;
  /** How much a word in it counts beside one in another entry. */
  weight: number;
}

/** What a search found, the best first. */
export interface Found<Entry> {
  entries: Entry[];
  /** Whether each of them has every word; else they have as many as any entry has. */
  hasAllWords: boolean;
}

/** More words of one search are ignored. */
const MAX_WORDS = 12;

/** Words of a question that say nothing about what is looked for. */
const FILLERS = new Set(
  "a an and are at be by can could do does for from get gets how i in into is it its make my of on one or our please should that the their there this to use using want was we what when where which who why will with would you your".split(
    " ",
  ),
);

/** What people say, by its stem, and the words of the reference. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<readonly string[]>({
    add: ["create", "invite"],
    allowlist: ["authorized"],
    autoscale: ["min_nodes"],
    bill: ["invoice"],
    change: ["update", "set"],
    colleague: ["member"],
    cost: ["usage", "invoice", "rate"],
    destroy: ["delete"],
    download: ["get"],
    drop: ["delete"],
    edit: ["update", "set"],
    firewall: ["network"],
    history: ["audit", "events"],
    ip: ["cidr"],
    kubectl: ["kubeconfig"],
    login: ["authentication", "kubeconfig"],
    modify: ["update", "set"],
    new: ["create"],
    password: ["token", "credential"],
    pay: ["invoice"],
    pdf: ["invoice"],
    price: ["rate", "plan", "usage"],
    remove: ["delete"],
    rename: ["update"],
    resize: ["update"],
    restrict: ["authorized"],
    retry: ["idempotency"],
    scale: ["update"],
    see: ["list", "get"],
    selector: ["list"],
    show: ["list", "get"],
    sse: ["stream"],
    start: ["create"],
    teammate: ["member"],
    user: ["member"],
    view: ["list", "get"],
    whitelist: ["authorized"],
  }).map(([word, synonyms]) => [stemmer(word), synonyms]),
);

/** How much more than in a text a word counts in each field. */
const BOOST = { name: 10, title: 8, names: 3 };

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
 * Searches the entries: for a word, its other forms, its beginnings and its synonyms. Found are the entries with every
 * word of a search; where none has, those with most of them, at least half.
 */
export function createSearch<Entry extends Searched>(
  entries: readonly Entry[],
): (query: string) => Found<Entry> {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const index = new MiniSearch<Entry & { name: string }>({
    fields: ["name", "title", "names", "text"],
    tokenize: (text, field) => (field === "name" ? [text] : listTerms(text)),
    processTerm: (term) => stemmer(term.toLowerCase()),
    searchOptions: {
      boost: BOOST,
      combineWith: "OR",
      prefix: (term) => term.length > 3,
      weights: { prefix: 0.1, fuzzy: 0 },
      tokenize: (word) => [word],
    },
  });
  index.addAll(entries.map((entry) => ({ ...entry, name: entry.names[0] ?? "" })));
  return (query) => {
    const words = toSearchWords(query);
    const matches = new Map<string, { words: number; score: number }>();
    for (const word of words)
      for (const { id, score } of index.search({ queries: [word, ...(SYNONYMS.get(stemmer(word)) ?? [])] })) {
        const other = matches.get(id) ?? { words: 0, score: 0 };
        const weight = byId.get(id)?.weight ?? 1;
        matches.set(id, { words: other.words + 1, score: other.score + weight * score });
      }
    const most = Math.max(...[...matches.values()].map((match) => match.words), words.length / 2);
    const best = [...matches]
      .filter(([, match]) => match.words === most)
      .toSorted(([, left], [, right]) => right.score - left.score);
    return {
      entries: best.flatMap(([id]) => byId.get(id) ?? []),
      hasAllWords: most === words.length,
    };
  };
}

/** Each word as it stands, and its parts: `idempotency-key`, `idempotency` and `key`. */
function listTerms(text: string): string[] {
  return text.split(/[\s,;()"'`]+/).flatMap((word) => {
    const whole = word.replace(/[.:?!]+$/, "");
    const parts = whole.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== "");
    return parts.length === 1 ? parts : [whole, ...parts];
  });
}
