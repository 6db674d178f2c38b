import { basename } from "node:path";
import { isTestFile } from "./imports.ts";
import { SLICES } from "./layers.ts";

const MAX_LINES = 300;
const GENERATED = /^e2e\/contract\/openapi\/generated\//;

/** But for what is true whoever asks: a report of the registry, and that a push was granted. */
const WRITE_BY_HANDLER =
  /\b(?!keepReport\b|keepNewReports\b|recordPushGrant\b)(?:add|delete|insert|keep|mark|record|remove|save|set|store|touch|update)[A-Z]\w*\(\s*(?:\w+\.)*deps\.db\b/;

/** What is written in which file of a slice: a file whose text matches has such a name. */
const SLICE_FILES: readonly { matches: RegExp; name: RegExp; rule: string }[] = [
  { matches: /\bpgTable\(/, name: /^table\.ts$/, rule: "tables stand in table.ts" },
  { matches: /\baddRoute\(/, name: /^(.+-)?routes\.ts$/, rule: "routes stand in routes.ts" },
  { matches: /\.openapi\("/, name: /^(.+-)?schema\.ts$/, rule: "wire shapes stand in schema.ts" },
  { matches: /: PeriodicJob\b/, name: /^jobs\.ts$/, rule: "periodic jobs stand in jobs.ts" },
  { matches: /^export .* from "/m, name: /^index\.ts$/, rule: "only index.ts re-exports" },
  {
    matches: new RegExp(`\\.transaction\\(|${WRITE_BY_HANDLER.source}`),
    name: /^(?!(.+-)?routes\.ts$)/,
    rule: "handlers write by transact, change or transactAs, which confirm the caller's right",
  },
  {
    matches: /\bnext_cursor(?!: z\b)\s*[:,}]/,
    name: /^(.+-)?schema\.ts$/,
    rule: "pages are made by toPage, toPositionPage and cutPage, which count their bytes",
  },
  { matches: /from "drizzle-orm"/, name: /^((.+-)?store|table)\.ts$/, rule: "SQL stands in store.ts" },
];

/** The rules for single files. Returns each one that this file breaks. */
export function findBrokenFileRules(file: string, text: string): string[] {
  if (GENERATED.test(file)) return [];
  const lines = text.split("\n").length - 1;
  const [area, slice = ""] = file.split("/");
  const isProduction = area === "apiserver" && !isTestFile(file);
  const isOfSlice = isProduction && SLICES.includes(slice);
  return [
    ...(lines > MAX_LINES ? [`it has ${lines} lines, at most ${MAX_LINES}`] : []),
    ...SLICE_FILES.filter(
      ({ matches, name }) => isOfSlice && matches.test(text) && !name.test(basename(file)),
    ).map(({ rule }) => rule),
    ...(isProduction && usesOtherConnection(text)
      ? ["a transaction uses tx alone: its tenant may have no other connection left"]
      : []),
  ];
}

const TRANSACTION =
  /\b(?:transaction|transact|transactAs|change|runThenRollBack|inOpenOrganization)(?:<[^()]*>)?\(/g;
const FIRST_DATABASE = /^\s*[\w.]*\bdb,/;
const DATABASE = /(?<!\w)db\b(?!:)/;

/** Whether the code of a transaction, up to the bracket that closes its call, names a database. */
function usesOtherConnection(text: string): boolean {
  return [...text.matchAll(TRANSACTION)].some(({ index, 0: call }) => {
    const code = upToClosing(text.slice(index + call.length));
    return DATABASE.test(code.replace(FIRST_DATABASE, ""));
  });
}

/** The text before the bracket that closes one which was opened before it. */
function upToClosing(text: string): string {
  let depth = 1;
  for (const { 0: bracket, index } of text.matchAll(/[()]/g)) {
    depth += bracket === "(" ? 1 : -1;
    if (depth === 0) return text.slice(0, index);
  }
  return text;
}
