import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listSourceFiles } from "./imports.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const OWN = "e2e/checks/architecture/words.test.ts";

/** One word for one thing: a word that has no other use here, and what is written instead. Names of other projects are `allowed`. */
const WORDS: readonly { word: RegExp; instead: string; allowed?: RegExp }[] = [
  {
    word: /\bengine\b/i,
    instead: "`capi` in code, Cluster API in text",
    allowed:
      /container.engine|gitops-engine|engine\.sock|credential-engine|data(\/|\?\.)engine|engine: capiUid|`engine`/g,
  },
  { word: /\boutbox|[a-z]Outbox/, instead: "events" },
  { word: /\boutside-?(writer|deletion|creation|change|audit)/i, instead: "external" },
  { word: /recheckAccess/, instead: "confirmAccess, in the transaction" },
  { word: /(cluster.?intent|name.?reservation|quota.?reservation)s?/i, instead: "write intent" },
  { word: /kind: "missing"/, instead: "search" },
  { word: /\btry(write|change|put|patch|delet\w*|close)\b/i, instead: "dryRun" },
  { word: /forger(y|ies)/i, instead: "invalid credentials" },
  { word: /\bconsider/i, instead: "check" },
  { word: /\balarms?\b|\brung\b/i, instead: "alert, wake" },
  { word: /\braise(Credentials|Generation)|\bkeepObject|\blocksPlatformOut/, instead: "what it does" },
  { word: /\bassembl(e|es|ed|y|ing)\b/i, instead: "create" },
  { word: /\boambv\b/, instead: "the names of the roles" },
  { word: /end of the line|had its time/i, instead: "what is done then" },
  { word: /depends on no version|failed parse without|sum returned no row/, instead: "what went wrong" },
  { word: /whomever/i, instead: "the caller, user or client" },
  { word: /[sS]ubnet.?[lL]ock|[sS]tream.?[pP]ass|\bclip[A-Z]/, instead: "allocation, ticket, truncate" },
  {
    word: /^\s*(\/\*\*|(?<!(\/\/|#) .*\n\s*)(\/\/|#)) (Of|The same) |^\s*\/\*\*\n\s*\* (Of|The same) /m,
    instead: "the noun itself",
  },
  {
    word: /^\s*\/\*\*(\n\s*\*)? That /m,
    instead: "a noun, such as the problem when",
    allowed: /That message is a note|That many connections/g,
  },
];

function findReplacedWords(file: string, text: string): string[] {
  return WORDS.flatMap(({ word, instead, allowed }) => {
    const match = word.exec(allowed === undefined ? text : text.replaceAll(allowed, ""));
    return match === null ? [] : [`${file}: ${JSON.stringify(match[0].trim())} is written as: ${instead}`];
  });
}

test("a word that was replaced comes back in no code, comment, message or page", () => {
  const sources = listSourceFiles(root, ["apiserver", "operator", "shared", "e2e"]).filter(
    (file) => file !== OWN && !file.startsWith("e2e/contract/clients/"),
  );
  const pages = globSync("{*.md,docs/**/*.md,examples/**/*,charts/**/*.{md,yaml,tpl,txt}}", { cwd: root });
  const texts = [...sources, ...pages.filter((file) => /\.\w+$/.test(file))];
  expect(texts.length).toBeGreaterThan(1500);
  expect(texts.flatMap((file) => findReplacedWords(file, readFileSync(join(root, file), "utf8")))).toEqual(
    [],
  );
});

test.each([
  ["in a comment", "/** Of the engine. */", 2],
  ["in a name", "const clusterIntents = tryDeletion();", 2],
  ["as the first of a comment in lines", "/**\n * The same for pools.\n */", 1],
  ["as a clause without a sentence", "/** That it fails. */", 1],
  ["not in a name of others", "// argo's gitops-engine, without a container engine", 0],
  ["not within a comment", "// Pools too.\n// Of those one.", 0],
])("a replaced word is found %s", (_, text, count) => {
  expect(findReplacedWords("a.ts", text)).toHaveLength(count);
});
