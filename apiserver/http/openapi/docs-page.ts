import { html, raw } from "hono/html";
import { writeCurlExample } from "./curl-example.ts";
import {
  type Content,
  componentName,
  type Documented,
  documentShape,
  listPlaced,
  type PlacedOperation,
  type Schema,
} from "./documented.ts";

type Html = ReturnType<typeof html>;

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}
code,pre{font:.85em ui-monospace,monospace;background:#f2f5f8;padding:.1em .3em;border-radius:4px}
pre{padding:.8em;overflow:auto}details{border:1px solid #d5dde5;border-radius:6px;margin:.5rem 0;padding:.5rem .8rem;overflow-x:auto}
summary code,td code{overflow-wrap:anywhere}
summary{cursor:pointer}b.m{display:inline-block;width:4.5em;color:#0b6bcb}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;border-top:1px solid #e5ebf0;padding:.25rem .5rem}
@media(prefers-color-scheme:dark){body{background:#10161d;color:#dbe4ee}code,pre{background:#1b2530}
details,td,th{border-color:#2c3947}a,b.m{color:#6cb4ff}}`;

/** The maximum length of a search text, in characters; the rest is ignored. */
export const MAX_SEARCH_LENGTH = 100;
/** Operations and schemas that a search shows; it counts the others. */
const MAX_FOUND = 40;
const STAFF_PERMISSION = "platform-admin";
const STAFF_SECTION = "Platform administration";
const SCHEMA_SECTION = "Schemas";

/** An operation or a schema, rendered once. */
interface Entry {
  section: string;
  /** In lower case: what a search finds it by. */
  text: string;
  body: Html;
}

/** The reference page of one document. */
export interface Reference {
  /** With every operation and schema. */
  page: string;
  /** With the first 40 of those that contain every word of the search, ignoring case. */
  search(query: string): Promise<string>;
}

/**
 * The reference page: plain HTML from an OpenAPI document, with no script and nothing from elsewhere. Operations of the
 * platform's staff come last, whatever their tag. `apiUrl`, without a slash at its end, is where the examples send to.
 */
export async function buildReference(document: unknown, apiUrl: string): Promise<Reference> {
  const documented = documentShape.parse(document);
  const operations = listPlaced(documented);
  const isStaff = (operation: PlacedOperation) => permissionsOf(operation).includes(STAFF_PERMISSION);
  const ordered = [
    ...operations.filter((operation) => !isStaff(operation)),
    ...operations.filter((operation) => isStaff(operation)),
  ];
  const entries = await Promise.all([
    ...ordered.map(async (operation) => ({
      section: isStaff(operation) ? STAFF_SECTION : operation.tags.join(", "),
      text: textOf(operation),
      body: await renderOperation(operation, writeCurlExample(operation, documented, apiUrl)),
    })),
    ...Object.entries(documented.components.schemas).map(async ([name, schema]) => ({
      section: SCHEMA_SECTION,
      text: [name, ...Object.keys(schema.properties ?? {})].join(" ").toLowerCase(),
      body: await renderComponent(name, schema),
    })),
  ]);
  return {
    page: await renderPage(documented, entries, ""),
    search(query) {
      const searched = query.slice(0, MAX_SEARCH_LENGTH).trim();
      const words = searched.toLowerCase().split(/\s+/);
      const found = entries.filter(({ text }) => words.every((word) => text.includes(word)));
      return renderPage(documented, found, searched);
    },
  };
}

function textOf({ operationId, method, path, summary, description, tags }: PlacedOperation): string {
  return [operationId, method, path, summary, description ?? "", ...tags].join(" ").toLowerCase();
}

async function renderPage({ info }: Documented, found: readonly Entry[], query: string): Promise<string> {
  const entries = query === "" ? found : found.slice(0, MAX_FOUND);
  const hint = found.length > entries.length ? ` These are the first ${entries.length}; add a word.` : "";
  const sections = [...new Set(entries.map(({ section }) => section))];
  const page = await html`<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${info.title} API</title>
<style>${raw(STYLE)}</style></head><body><h1>${info.title} API</h1>
${info.description.split("\n\n").map((paragraph) => html`<p>${renderText(paragraph)}</p>`)}
<p>Machine-readable: <a href="/openapi.json">/openapi.json</a></p>
<form role="search" action="/docs"><label>Search <input type="search" name="q" maxlength="${MAX_SEARCH_LENGTH}" value="${query}"></label>
<button>Search</button></form>
${query === "" ? "" : html`<p>Found: ${found.length}.${hint} <a href="/docs">Show everything</a></p>`}
${sections.map((name) => html`<h2>${name}</h2>${entries.filter(({ section }) => section === name).map(({ body }) => body)}`)}
</body></html>`;
  return page.toString();
}

function permissionsOf({ security }: PlacedOperation): string[] {
  return security.flatMap((entry) => Object.values(entry).flat());
}

function renderOperation(operation: PlacedOperation, example: string): Html {
  const permissions = permissionsOf(operation);
  return html`<details id="${operation.operationId}"><summary><b class="m">${operation.method.toUpperCase()}</b>
<code>${operation.path}</code> ${operation.summary}</summary>
${operation.description === undefined ? "" : html`<p>${renderText(operation.description)}</p>`}
${operation.security.length === 0 ? html`<p>No credential needed.</p>` : ""}
${permissions.length === 0 ? "" : html`<p>Permission: <code>${permissions.join(" or ")}</code></p>`}
${renderParameters(operation)}
${operation.requestBody === undefined ? "" : html`<p>Body: ${renderContent(operation.requestBody.content)}</p>`}
<pre>${example}</pre>
<table>${Object.entries(operation.responses).map(
    ([status, response]) =>
      html`<tr><th>${status}</th><td>${renderText(response.description)}</td><td>${renderContent(response.content)}</td></tr>`,
  )}</table></details>`;
}

function renderParameters({ parameters }: PlacedOperation): Html | string {
  if (parameters === undefined || parameters.length === 0) return "";
  return html`<table>${parameters.map(
    (
      parameter,
    ) => html`<tr><th><code>${parameter.name}</code></th><td>${parameter.in}${parameter.required === true ? ", required" : ""}</td>
<td>${renderType(parameter.schema)}</td></tr>`,
  )}</table>`;
}

function renderComponent(name: string, schema: Schema): Html {
  return html`<details id="schema-${name}"><summary><code>${name}</code></summary>${renderProperties(schema)}
${schema.example === undefined ? "" : html`<pre>${JSON.stringify(schema.example, undefined, 2)}</pre>`}</details>`;
}

function renderProperties(schema: Schema): Html {
  const required = new Set(schema.required);
  return html`<table>${Object.entries(schema.properties ?? {}).map(
    ([
      name,
      property,
    ]) => html`<tr><th><code>${name}</code></th><td>${required.has(name) ? "required" : ""}</td>
<td>${renderType(property)}</td></tr>`,
  )}</table>`;
}

function renderContent(content: Content): Html[] {
  return Object.entries(content ?? {}).map(([mediaType, { schema }]) =>
    mediaType === "application/json" && schema !== undefined
      ? renderType(schema)
      : html`<code>${mediaType}</code>`,
  );
}

/** One line about a schema: a link to its component, or its type with its bounds; nested objects as a table. */
function renderType(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = componentName(schema.$ref);
    return html`<a href="/docs#schema-${name}">${name}</a>`;
  }
  if (schema.anyOf !== undefined) return html`${schema.anyOf.map((branch) => html`${renderType(branch)} `)}`;
  const {
    type,
    description,
    items,
    properties,
    required: _required,
    example: _example,
    enum: values,
    ...bounds
  } = schema;
  const limits = Object.entries(bounds)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([key, value]) => `${key}: ${String(value)}`);
  return html`${[type].flat().join(" | ")} ${limits.length === 0 ? "" : html`<code>${limits.join(", ")}</code>`}
${values === undefined ? "" : html`<code>${values.join(" | ")}</code>`}
${items === undefined ? "" : html`of ${renderType(items)}`}
${description === undefined ? "" : renderText(description)}
${properties === undefined ? "" : renderProperties(schema)}`;
}

/** Text with `code` in backquotes. */
function renderText(text: string): Html[] {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
