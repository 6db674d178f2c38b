import { html, raw } from "hono/html";
import { z } from "zod";

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
  get items() {
    return schemaShape.optional();
  },
  get anyOf() {
    return z.array(schemaShape).optional();
  },
  get properties() {
    return z.record(z.string(), schemaShape).optional();
  },
  required: z.array(z.string()).optional(),
  example: z.unknown().optional(),
});
const contentShape = z.record(z.string(), z.looseObject({ schema: schemaShape.optional() })).optional();
const operationShape = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        schema: schemaShape,
      }),
    )
    .optional(),
  requestBody: z.looseObject({ content: contentShape }).optional(),
  responses: z.record(z.string(), z.looseObject({ description: z.string(), content: contentShape })),
});
const documentShape = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaShape) }),
});

type Schema = z.output<typeof schemaShape>;
type Content = z.output<typeof contentShape>;
type Operation = z.output<typeof operationShape> & { method: string; path: string };
type Html = ReturnType<typeof html>;

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}
code,pre{font:.85em ui-monospace,monospace;background:#f2f5f8;padding:.1em .3em;border-radius:4px}
pre{padding:.8em;overflow:auto}details{border:1px solid #d5dde5;border-radius:6px;margin:.5rem 0;padding:.5rem .8rem;overflow-x:auto}
summary code,td code{overflow-wrap:anywhere}
summary{cursor:pointer}b.m{display:inline-block;width:4.5em;color:#0b6bcb}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;border-top:1px solid #e5ebf0;padding:.25rem .5rem}
@media(prefers-color-scheme:dark){body{background:#10161d;color:#dbe4ee}code,pre{background:#1b2530}
details,td,th{border-color:#2c3947}a,b.m{color:#6cb4ff}}`;

/** The reference page: plain HTML from an OpenAPI document, with no script and nothing from elsewhere. */
export async function renderReference(document: unknown): Promise<string> {
  const { info, paths, components } = documentShape.parse(document);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
  const tags = [...new Set(operations.flatMap((operation) => operation.tags))];
  const page = await html`<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${info.title} API</title>
<style>${raw(STYLE)}</style></head><body><h1>${info.title} API</h1>
${info.description.split("\n\n").map((paragraph) => html`<p>${renderText(paragraph)}</p>`)}
<p>Machine-readable: <a href="/openapi.json">/openapi.json</a></p>
${tags.map((tag) => renderTag(tag, operations))}
<h2>Schemas</h2>${Object.entries(components.schemas).map(([name, schema]) => renderComponent(name, schema))}
</body></html>`;
  return page.toString();
}

function renderTag(tag: string, operations: readonly Operation[]): Html {
  const own = operations.filter((operation) => operation.tags.includes(tag));
  return html`<h2>${tag}</h2>${own.map(renderOperation)}`;
}

function renderOperation(operation: Operation): Html {
  const permissions = operation.security.flatMap((entry) => Object.values(entry).flat());
  return html`<details id="${operation.operationId}"><summary><b class="m">${operation.method.toUpperCase()}</b>
<code>${operation.path}</code> ${operation.summary}</summary>
${operation.description === undefined ? "" : html`<p>${renderText(operation.description)}</p>`}
${operation.security.length === 0 ? html`<p>No credential needed.</p>` : ""}
${permissions.length === 0 ? "" : html`<p>Permission: <code>${permissions.join(" or ")}</code></p>`}
${renderParameters(operation)}
${operation.requestBody === undefined ? "" : html`<p>Body: ${renderContent(operation.requestBody.content)}</p>`}
<table>${Object.entries(operation.responses).map(
    ([status, response]) =>
      html`<tr><th>${status}</th><td>${renderText(response.description)}</td><td>${renderContent(response.content)}</td></tr>`,
  )}</table></details>`;
}

function renderParameters({ parameters }: Operation): Html | string {
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
    const name = schema.$ref.split("/").at(-1) ?? "";
    return html`<a href="#schema-${name}">${name}</a>`;
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
