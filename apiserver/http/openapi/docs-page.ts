import { html, raw } from "hono/html";
import { PAGE_SCRIPT, PAGE_STYLE } from "./docs-assets.ts";
import { CODE_ENTRIES, type CodeEntry, type Topic, writeTopics } from "./docs-guide.ts";
import {
  accessOf,
  errorsOf,
  type Html,
  renderComponent,
  renderOperation,
  renderText,
  renderWebhook,
  STAFF_PERMISSION,
} from "./docs-operation.ts";
import { createSearch, type Searched } from "./docs-search.ts";
import {
  componentName,
  type Documented,
  documentShape,
  LANGUAGES,
  listPlaced,
  type PlacedOperation,
  type Schema,
  writeExamples,
} from "./documented.ts";

/** The maximum length of a search text, in characters; the rest is ignored. */
export const MAX_SEARCH_LENGTH = 100;
/** Entries that a search shows; it counts the others. */
const MAX_FOUND = 20;
const STAFF_SECTION = "Platform administration";
const SENT_SECTION = "Requests that webhooks send";
const SCHEMA_SECTION = "Schemas";

/** A part of the page that opens, rendered once. */
interface Entry extends Searched {
  id: string;
  section: string;
  /** Its name in the contents. */
  name: string;
  /** The line that is always shown. */
  line: Html;
  /** What opens below it, with the attributes of the element around it. */
  body: Html;
  attributes: Html | string;
}

interface Section {
  id: string;
  name: string;
  description: string;
  entries: readonly Entry[];
}

/** The reference page of one document. */
export interface Reference {
  /** With every operation and schema. */
  page: string;
  /** With the first 20 of the operations, schemas, texts and codes that a search finds, the best first. */
  search(query: string): Promise<string>;
}

/**
 * The reference page of an OpenAPI document: it works without a script, and nothing in it is from elsewhere. Operations
 * of the platform's staff come after all others, whatever their tag. `apiUrl`, without a slash at its end, is where the
 * examples send to.
 */
export async function buildReference(document: unknown, apiUrl: string): Promise<Reference> {
  const documented = documentShape.parse(document);
  const sections = listSections(documented, apiUrl);
  const topics = writeTopics(apiUrl);
  const contents = renderContents(topics, sections);
  const { title, description } = documented.info;
  // The topics say what the other paragraphs do.
  const [lead = ""] = description.split("\n\n");
  const whole = html`<h1>${title} API</h1><p class="lead">${renderText(lead)} For programs: <a href="/openapi.json">/openapi.json</a>.</p>
${topics.map((topic) => html`<section id="${topic.id}" class="topic"><h2>${topic.title}</h2>${topic.body}</section>`)}
${sections.map(({ id, name, description: about, entries }) => html`<section id="${id}"><h2>${name}</h2><p>${about}</p>${entries.map((entry) => renderEntry(entry))}</section>`)}`;
  const search = createSearch<Entry>([
    ...topics.map(toTopicEntry),
    ...CODE_ENTRIES.map(toCodeEntry),
    ...sections.flatMap(({ entries }) => entries),
  ]);
  return {
    page: await renderPage(title, contents, whole, ""),
    search(query) {
      const text = query.slice(0, MAX_SEARCH_LENGTH).trim();
      const { entries: found, hasAllWords } = search(text);
      const shown = found.slice(0, MAX_FOUND);
      const nearest = hasAllWords ? "" : "Nothing has all of these words. ";
      const hint = found.length > shown.length ? `These are the first ${shown.length}; add a word. ` : "";
      const results = html`<h1>Search</h1><h2>Found: ${found.length}.</h2><p>${nearest}${hint}<a href="/docs">Show everything</a></p>
${shown.map((entry, index) => renderEntry(entry, { open: index === 0, section: entry.section }))}`;
      return renderPage(title, contents, results, text);
    },
  };
}

function listSections(documented: Documented, apiUrl: string): Section[] {
  const operations = listPlaced(documented);
  const isStaff = (operation: PlacedOperation) => accessOf(operation).permissions.includes(STAFF_PERMISSION);
  const about = (name: string) => documented.tags.find((tag) => tag.name === name)?.description ?? "";
  const names = [...new Set(operations.filter((one) => !isStaff(one)).flatMap(({ tags }) => tags))];
  const section = (name: string, description: string, entries: readonly Entry[]): Section => ({
    id: `section-${name.toLowerCase().replaceAll(" ", "-")}`,
    name,
    description,
    entries,
  });
  const toEntry = (name: string) => (operation: PlacedOperation) =>
    toOperationEntry(operation, name, documented, apiUrl);
  return [
    ...names.map((name) =>
      section(
        name,
        about(name),
        operations.filter((one) => !isStaff(one) && one.tags.includes(name)).map(toEntry(name)),
      ),
    ),
    section(
      STAFF_SECTION,
      about(STAFF_SECTION),
      operations.filter((one) => isStaff(one)).map(toEntry(STAFF_SECTION)),
    ),
    section(
      SENT_SECTION,
      "What the endpoint of a webhook receives: a POST for each event that it is subscribed to.",
      Object.entries(documented.webhooks).map(([type, { post }]) =>
        toWebhookEntry({ ...post, method: "post", path: type }, documented),
      ),
    ),
    section(
      SCHEMA_SECTION,
      "The bodies of requests and responses.",
      Object.entries(documented.components.schemas).map(toSchemaEntry),
    ),
  ];
}

function toTopicEntry({ id, title, keywords, body }: Topic): Entry {
  return {
    id,
    section: "Basics",
    name: title,
    line: html`<h3>${title}</h3>`,
    attributes: "",
    body: html`<div class="words">${body}</div>`,
    title,
    names: [id, ...keywords.split(" ")],
    text: "",
    weight: 2,
  };
}

function toOperationEntry(
  operation: PlacedOperation,
  section: string,
  documented: Documented,
  apiUrl: string,
): Entry {
  const { operationId, method, path, summary, description = "", parameters = [] } = operation;
  const { schemas } = documented.components;
  const { permissions, scopes } = accessOf(operation);
  const body = operation.requestBody?.content?.["application/json"]?.schema?.$ref;
  const fields = body === undefined ? [] : listFields(schemas[componentName(body)], schemas);
  const dryRun = parameters.some(({ name }) => name === "dry_run");
  return {
    id: operationId,
    section,
    name: summary,
    line: html`<b class="method ${method}">${method.toUpperCase()}</b> <h3>${summary}</h3> <code>${breakable(path)}</code>`,
    attributes: html` data-method="${method.toUpperCase()}" data-path="${path}"${dryRun ? html` data-dry-run="true"` : ""}`,
    body: renderOperation(operation, schemas, writeExamples(operation, documented, apiUrl)),
    title: summary,
    names: [
      operationId,
      method,
      path,
      ...parameters.map(({ name }) => name),
      ...permissions,
      ...scopes,
      ...fields,
      ...errorsOf(operation).map(([code]) => code),
    ],
    text: `${description} ${section}`,
    weight: section === STAFF_SECTION ? 0.5 : 1,
  };
}

function toWebhookEntry(operation: PlacedOperation, { components }: Documented): Entry {
  const { path: type, summary, description = "" } = operation;
  return {
    id: operation.operationId,
    section: SENT_SECTION,
    name: type,
    line: html`<b class="method post">POST</b> <h3>${type}</h3>`,
    attributes: "",
    body: renderWebhook(operation, components.schemas),
    title: summary,
    names: [type, operation.operationId],
    text: `${description} webhook event notified notification`,
    weight: 0.5,
  };
}

function toSchemaEntry([name, schema]: [string, Schema]): Entry {
  return {
    id: `schema-${name}`,
    section: SCHEMA_SECTION,
    name,
    line: html`<h3><code>${name}</code></h3>`,
    attributes: "",
    body: renderComponent(schema),
    title: "",
    names: [name, ...Object.keys(schema.properties ?? {})],
    text: schema.description ?? "",
    weight: 0.5,
  };
}

function toCodeEntry({ id, code, status, meaning, remedy }: CodeEntry): Entry {
  return {
    id,
    section: status === undefined ? "Codes of fields" : "Codes of errors",
    name: code,
    line: html`<b class="method">${status ?? "422"}</b> <h3><code>${code}</code></h3>`,
    attributes: "",
    body: html`<div class="words"><p>${renderText(meaning)}</p><p><span class="what">What to do:</span> ${renderText(remedy)}</p></div>`,
    title: code,
    names: [code, ...(status === undefined ? [] : [String(status)])],
    text: `${meaning} ${remedy}`,
    weight: 1,
  };
}

/** The fields of a body, and those of the components in it. */
function listFields(schema: Schema | undefined, schemas: Documented["components"]["schemas"]): string[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, { $ref, items }]) => {
    const inner = $ref ?? items?.$ref;
    const fields = inner === undefined ? {} : (schemas[componentName(inner)]?.properties ?? {});
    return [name, ...Object.keys(fields)];
  });
}

/** A path that a narrow window breaks at its slashes. */
function breakable(path: string): Html {
  return html`${path.split("/").map((part, index) => (index === 0 ? part : html`<wbr>/${part}`))}`;
}

/** The id stands inside what opens: a browser then opens it for a link to it. */
function renderEntry(entry: Entry, found?: { open: boolean; section: string }): Html {
  return html`<details class="entry"${found?.open === true ? " open" : ""}><summary>${entry.line}${
    found === undefined ? "" : html` <span class="in">${found.section}</span>`
  }</summary><div class="body" id="${entry.id}"${entry.attributes}>${entry.body}</div></details>`;
}

function renderContents(topics: readonly Topic[], sections: readonly Section[]): Html {
  const link = (id: string, name: string) => html`<li><a href="/docs#${id}">${name}</a></li>`;
  return html`<nav aria-label="Contents"><details class="contents" open><summary>Contents</summary>
<ul>${topics.map(({ id, title }) => link(id, title))}</ul>
${sections.map(
  ({ id, name, entries }) =>
    html`<details><summary>${name}</summary><ul>${link(id, `All of ${name}`)}${
      name === SCHEMA_SECTION ? "" : entries.map((entry) => link(entry.id, entry.name))
    }</ul></details>`,
)}</details></nav>`;
}

async function renderPage(title: string, contents: Html, main: Html, query: string): Promise<string> {
  const page = await html`<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${query === "" ? "" : `${query} · `}${title} API</title><style>${raw(PAGE_STYLE)}</style></head><body>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="brand" href="/docs">${title} <span>API</span></a>
<form role="search" action="/docs"><label for="search">Search</label>
<input id="search" type="search" name="q" maxlength="${MAX_SEARCH_LENGTH}" value="${query}" placeholder="How do I create a cluster?"><button>Search</button></form>
<fieldset class="languages"><legend>Examples in</legend>${LANGUAGES.map(
    (language, index) =>
      html`<label><input type="radio" name="language" value="${language}"${index === 0 ? " checked" : ""}><span>${language}</span></label>`,
  )}</fieldset></header>
<div class="layout">${contents}<main id="content" tabindex="-1">${main}</main></div>
<script>${raw(PAGE_SCRIPT)}</script></body></html>`;
  return page.toString();
}
