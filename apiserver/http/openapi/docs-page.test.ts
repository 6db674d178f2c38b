import { expect, test } from "vitest";
import { renderOpenApi } from "../../openapi/render.ts";
import { buildReference } from "./docs-page.ts";
import { documentShape, listPlaced } from "./documented.ts";

const document = documentShape.parse(JSON.parse(renderOpenApi()));
const operations = listPlaced(document);
const reference = await buildReference(document, "https://api.example.com");

test.each(operations.map(({ operationId, path }) => [operationId, path]))(
  "%s is shown with its curl example",
  (operationId, path) => {
    const [, rest = ""] = reference.page.split(`<details id="${operationId}">`);
    const [entry = ""] = rest.split("</details>");
    expect(entry).toContain(`<code>${path}</code>`);
    expect(entry).toMatch(/<pre>curl (-X [A-Z]+ )?&#39;https:\/\/api\.example\.com\/api\/v1\//);
  },
);

test("operations of the platform's staff come after all others, in one section", () => {
  const ids = idsOf(reference.page).slice(0, operations.length);
  const staff = operations.filter(({ path }) => path.startsWith("/api/v1/admin/"));
  const staffIds = staff.map(({ operationId }) => operationId);
  expect(new Set(ids.slice(-staff.length))).toEqual(new Set(staffIds));
  const sections = [...reference.page.matchAll(/<h2>(.+?)<\/h2>/g)].map(([, name]) => name);
  expect(sections.slice(-2)).toEqual(["Platform administration", "Schemas"]);
  expect(new Set(sections).size).toBe(sections.length);
});

test.each([
  ["every word of a summary, a method or a path", "UPGRADE  post", ["upgradeCluster"]],
  ["an operation's id", "listApiTokens", ["listApiTokens"]],
  ["a schema's name", "ApiServerRateLimit", ["schema-ApiServerRateLimit"]],
  ["a schema's field", "max_connections_per_second", ["schema-ApiServerRateLimit"]],
  ["nothing that has all the words", "upgradeCluster zzzz", []],
])("a search finds %s", async (_, query, expected) => {
  const page = await reference.search(query);
  expect(idsOf(page)).toEqual(expected);
  expect(page).toContain(`Found: ${expected.length}.`);
});

test("a search that finds nearly everything shows the first 40 entries and says how many there are", async () => {
  const page = await reference.search("e");
  expect(page.match(/<details /g)).toHaveLength(40);
  expect(page).toMatch(/Found: \d{3}\. These are the first 40; add a word\./);
});

test("a search is text on the page, never markup, and is cut at its longest", async () => {
  const page = await reference.search(`"><script>alert(1)</script>${"x".repeat(10_000)}`);
  expect(page).toContain("&quot;&gt;&lt;script&gt;");
  expect(page).not.toContain("<script");
  expect(page).not.toContain("x".repeat(101));
});

function idsOf(page: string): (string | undefined)[] {
  return [...page.matchAll(/<details id="(.+?)"/g)].map(([, id]) => id);
}
