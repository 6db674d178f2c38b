import { expect, test } from "vitest";
import { renderOpenApi } from "../../openapi/render.ts";
import { buildReference } from "./docs-page.ts";
import { createSearch, toSearchWords } from "./docs-search.ts";

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
  ["invite a colleague", "inviteMember"],
  ["download invoice pdf", "getInvoice"],
  ["sse stream events", "streamSystemEvents"],
  ["autoscaling of nodes", "updateNodePool"],
  ["how do I pay", "getInvoice"],
  ["kubectl access", "getKubeconfig"],
  ["rename my cluster", "updateCluster"],
  ["paginate", "pagination"],
  ["price list", "listPlans"],
  ["verify webhook signature", "rotateWebhookSecret"],
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

test("a search of which no entry has every word says so and finds those with most, and nothing when that is less than half", async () => {
  const page = await reference.search("upgradeCluster zzzz");
  expect(page).toContain("Nothing has all of these words.");
  expect((await idsOf("upgradeCluster zzzz"))[0]).toBe("upgradeCluster");
  expect(await idsOf("upgradeCluster yyyy zzzz")).toEqual([]);
  expect(await reference.search("upgradeCluster")).not.toContain("Nothing has all");
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
  const entry = (id: string, title: string, name: string, text: string) => ({
    id,
    title,
    text,
    names: [id, name],
    weight: 1,
  });
  const entries = [
    entry("in-text", "one", "", "about pools"),
    entry("in-name", "one", "pool_id", ""),
    entry("in-title", "a pool", "", ""),
    entry("same", "one", "", "about pools"),
  ];
  const found = createSearch(entries)("pools").entries.map(({ id }) => id);
  expect(found).toEqual(["in-title", "in-name", "in-text", "same"]);
});
