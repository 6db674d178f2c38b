import { describe, expect, test } from "vitest";
import { renderOpenApi } from "../../openapi/render.ts";
import { ERROR_CODES } from "../errors.ts";
import { buildReference } from "./docs-page.ts";
import { documentShape, LANGUAGES, listPlaced } from "./documented.ts";

const document = documentShape.parse(JSON.parse(renderOpenApi()));
const operations = listPlaced(document);
const reference = await buildReference(document, "https://api.example.com");
const bodies = new Map(
  reference.page
    .split('<details class="entry">')
    .slice(1)
    .map((entry) => [/<div class="body" id="(.+?)"/.exec(entry)?.[1] ?? "", entry]),
);

describe.each(operations.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (operationId, { path, responses, security }) => {
    const entry = bodies.get(operationId) ?? "";

    test("is shown with its path, and an example in each language", () => {
      expect(entry.replaceAll("<wbr>", "")).toContain(`<code>${path}</code>`);
      expect(entry).toMatch(/<pre>curl (-X [A-Z]+ )?&#39;https:\/\/api\.example\.com\/api\/v1\//);
      for (const language of LANGUAGES) expect(entry).toContain(`<figure data-language="${language}">`);
    });

    test("has an example of its response where that is JSON", () => {
      const success = Object.entries(responses).filter(([status]) => status < "3");
      if (success.every(([, { content }]) => content?.["application/json"] === undefined)) return;
      expect(entry).toMatch(/<figcaption>Response 20/);
    });

    test("names its permission and its scope once", () => {
      const names = security.flatMap(({ bearer = [] }) => bearer).filter((name) => name !== "platform-admin");
      expect(entry.match(/<p class="access">/g)).toHaveLength(1);
      for (const name of names)
        expect(/<p class="access">.*?<\/p>/s.exec(entry)?.[0]).toContain(`<code>${name}</code>`);
    });
  },
);

test("every link of the page leads to something on it, and no id stands twice", () => {
  const ids = [...reference.page.matchAll(/ id="(.+?)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const targets = [...reference.page.matchAll(/href="\/docs#(.+?)"/g)].map(([, id]) => id);
  expect(targets.length).toBeGreaterThan(1000);
  expect([...new Set(targets)].filter((id) => !ids.includes(id))).toEqual([]);
});

test("operations of the platform's staff come after all others, in one section", () => {
  const ids = [...bodies.keys()].slice(0, operations.length);
  const staff = operations.filter(({ path }) => path.startsWith("/api/v1/admin/"));
  expect(new Set(ids.slice(-staff.length))).toEqual(new Set(staff.map(({ operationId }) => operationId)));
  const sections = [...reference.page.matchAll(/<section id="section-.+?"><h2>(.+?)<\/h2>/g)].map(
    ([, name]) => name,
  );
  expect(sections.slice(-3)).toEqual(["Platform administration", "Requests that webhooks send", "Schemas"]);
  expect(new Set(sections).size).toBe(sections.length);
});

test("the texts come before the operations, with every error code and what to do", () => {
  const [before = ""] = reference.page.split('<section id="section-');
  for (const id of ["authentication", "errors", "pagination", "idempotency", "dry-run"])
    expect(before).toContain(`<section id="${id}"`);
  for (const code of ERROR_CODES) expect(before).toContain(`id="error-${code}"`);
  expect(before.match(/What to do:/g)).toHaveLength(ERROR_CODES.length);
});

test("a field has its sentence before its pattern, and nothing that only tools read", () => {
  const name = /<code class="name">k8s_version<\/code>.*?<\/li>/s.exec(
    bodies.get("createCluster") ?? "",
  )?.[0];
  expect(name).toMatch(/MAJOR\.MINOR\.PATCH.*At most 16 characters\..*Pattern:/s);
  expect(reference.page.match(/x-kubernetes|x-internal|\^\[\^\\x00\]\*\$|9007199254740991/g)).toBeNull();
});

test("a search that finds much shows the first 20 entries and says how many there are", async () => {
  const page = await reference.search("cluster");
  expect(page.match(/<details class="entry"/g)).toHaveLength(20);
  expect(page).toMatch(/Found: \d+\..*These are the first 20; add a word\./);
});

test("a search is text on the page, never markup, and is cut at its longest", async () => {
  const page = await reference.search(`"><script>alert(1)</script>${"x".repeat(10_000)}`);
  expect(page).toContain("&quot;&gt;&lt;script&gt;");
  expect(page).not.toContain("<script>alert");
  expect(page).not.toContain("x".repeat(101));
});
