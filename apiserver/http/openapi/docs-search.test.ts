import { expect, test } from "vitest";
import { renderOpenApi } from "../../openapi/render.ts";
import { buildReference } from "./docs-page.ts";
import { rank, toSearchWords } from "./docs-search.ts";

const reference = await buildReference(JSON.parse(renderOpenApi()), "https://api.example.com");

async function idsOf(query: string): Promise<string[]> {
  const page = await reference.search(query);
  return [...page.matchAll(/<div class="body" id="(.+?)"/g)].map(([, id = ""]) => id);
}

test.each([
  ["How do I create a cluster?", "createCluster"],
  ["how can I make a new cluster", "createCluster"],
  ["remove a node pool", "deleteNodePool"],
  ["where do I see my invoices", "listInvoices"],
  ["upgrade a cluster", "upgradeCluster"],
  ["UPGRADE  post", "upgradeCluster"],
  ["listApiTokens", "listApiTokens"],
  ["quota_exceeded", "error-quota_exceeded"],
  ["min_gt_desired", "field-min_gt_desired"],
  ["pagination", "pagination"],
  ["dry run", "dry-run"],
  ["idempotency-key", "idempotency"],
  ["cluster.created", "receiveClusterCreated"],
])("the first that a search for %s finds is %s", async (query, expected) => {
  expect((await idsOf(query))[0]).toBe(expected);
});

test.each([
  ["a parameter", "dry_run", "createNodePool"],
  ["a field of a body", "authorized_cidrs", "createCluster"],
  ["a field of a schema", "max_connections_per_second", "schema-ApiServerRateLimit"],
  ["a permission", "api_tokens:create", "createApiToken"],
  ["a scope", "clusters:write", "createCluster"],
  ["a code that an operation may answer with", "last_owner", "updateMember"],
])("a search finds %s", async (_, query, expected) => {
  expect(await idsOf(query)).toContain(expected);
});

test("a search finds nothing when one of its words is nowhere", async () => {
  expect(await idsOf("upgradeCluster zzzz")).toEqual([]);
});

test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
  "a search for %s, a name that every object of JavaScript has, is one for a word that is nowhere",
  async (query) => {
    expect(await idsOf(query)).toEqual([]);
  },
);

test("fillers count only where a search has nothing else, and at most 12 words count", () => {
  expect(toSearchWords("How do I get THE kubeconfig, please?")).toEqual(["kubeconfig"]);
  expect(toSearchWords("what is it")).toEqual(["what", "is", "it"]);
  expect(toSearchWords(Array.from({ length: 50 }, (_, index) => `w${index}`).join(" "))).toHaveLength(12);
});

test("a title counts more than a name, a name more than text, and equal ones keep their order", () => {
  const entry = (title: string, name: string, text: string) => ({ title, names: ["id", name], text });
  const [inText, inName, inTitle, same] = [
    entry("one", "", "about pools"),
    entry("one", "pool_id", ""),
    entry("a pool", "", ""),
    entry("one", "", "pools"),
  ];
  expect(rank([inText, inName, inTitle, same], ["pools"])).toEqual([inTitle, inName, inText, same]);
});
