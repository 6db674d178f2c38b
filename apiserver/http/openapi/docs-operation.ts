import { html } from "hono/html";
import {
  type Content,
  componentName,
  type Documented,
  LANGUAGES,
  type Language,
  type PlacedOperation,
  type Schema,
} from "./documented.ts";

export type Html = ReturnType<typeof html>;
type Schemas = Documented["components"]["schemas"];

/** The permission of the platform's staff; it is no role of an organization. */
export const STAFF_PERMISSION = "platform-admin";
/** What text is by default: no bound that a reader has use for. */
const ANY_TEXT = String.raw`^[^\x00]*$`;

/** The permissions of which a person needs one, and the scopes of which an API token needs one. */
export function accessOf({ security }: Pick<PlacedOperation, "security">): {
  permissions: string[];
  scopes: string[];
} {
  return {
    permissions: security.flatMap(({ bearer = [] }) => bearer),
    scopes: security.flatMap(({ apiToken = [] }) => apiToken),
  };
}

/** The error codes that an operation may answer with, each with its status. */
export function errorsOf({
  responses,
}: Pick<PlacedOperation, "responses">): [code: string, status: string][] {
  return Object.entries(responses)
    .filter(([status]) => status >= "4")
    .flatMap(([status, { content }]) =>
      Object.keys(content?.["application/json"]?.examples ?? {}).map(
        (code) => [code, status] satisfies [string, string],
      ),
    );
}

/** What opens below the line of an operation: words and fields on one side, examples on the other. */
export function renderOperation(
  operation: PlacedOperation,
  schemas: Schemas,
  examples: Readonly<Record<Language, string>>,
): Html {
  const { summary, description = "" } = operation;
  return html`<div class="words">${description === `${summary}.` ? "" : renderParagraphs(description)}
${renderAccess(operation)}
${renderParameters(operation)}
${renderBody(operation.requestBody?.content, schemas)}
<h4>Responses</h4><ul class="fields">${Object.entries(operation.responses)
    .filter(([status]) => status < "4")
    .map(
      ([status, response]) =>
        html`<li><code class="name">${status}</code> <span class="type">${renderContent(response.content)}</span>
${renderParagraphs(response.description)}</li>`,
    )}</ul>
${renderErrors(operation)}
<p class="permalink"><a href="/docs#${operation.operationId}">Link to ${operation.operationId}</a></p></div>
<div class="examples">${LANGUAGES.map(
    (language) =>
      html`<figure data-language="${language}"><figcaption>${language}</figcaption><pre>${examples[language]}</pre></figure>`,
  )}${renderResponseExamples(operation, schemas)}</div>`;
}

/** The request of a webhook: its fields, and an example. */
export function renderWebhook(operation: PlacedOperation, schemas: Schemas): Html {
  const content = operation.requestBody?.content;
  const body = content?.["application/json"];
  return html`<div class="words">${operation.description === undefined ? "" : renderParagraphs(operation.description)}
${renderParameters(operation)}
${renderBody(content, schemas)}
<h4>What it expects</h4><ul class="fields">${Object.entries(operation.responses).map(
    ([status, { description }]) =>
      html`<li><code class="name">${status}</code>${renderParagraphs(description)}</li>`,
  )}</ul></div>
<div class="examples">${renderExample("Body", body?.example)}</div>`;
}

function renderAccess(operation: PlacedOperation): Html {
  const { permissions, scopes } = accessOf(operation);
  if (operation.security.length === 0) return html`<p class="access">No token is needed.</p>`;
  const forTokens = operation.security.some(({ apiToken }) => apiToken !== undefined);
  if (permissions.includes(STAFF_PERMISSION))
    return html`<p class="access">For the platform's staff; API tokens are refused.</p>`;
  const permission =
    permissions.length === 0 ? html`Any signed-in user.` : html`Permission: ${renderAny(permissions)}.`;
  if (!forTokens) return html`<p class="access">${permission} API tokens are refused.</p>`;
  const scope =
    scopes.length === 0 ? html`Any API token.` : html`Scope of an API token: ${renderAny(scopes)}.`;
  return html`<p class="access">${permission} ${scope}</p>`;
}

function renderAny(names: readonly string[]): Html {
  return html`${names.map((name, index) => html`${index === 0 ? "" : " or "}<code>${name}</code>`)}`;
}

function renderParameters({ parameters = [] }: PlacedOperation): Html | string {
  if (parameters.length === 0) return "";
  return html`<h4>Parameters</h4><ul class="fields">${parameters.map(
    ({ name, in: place, required, schema }) =>
      html`<li data-in="${place}" data-name="${name}"><code class="name">${name}</code>
<span class="type">${place}, ${renderKind(schema)}${required === true ? ", required" : ""}</span>
${renderDetails(schema)}</li>`,
  )}</ul>`;
}

function renderBody(content: Content, schemas: Schemas): Html | string {
  const schema = content?.["application/json"]?.schema;
  if (schema === undefined) return "";
  const resolved = schema.$ref === undefined ? schema : schemas[componentName(schema.$ref)];
  const example = schema.example ?? resolved?.example;
  return html`<h4 data-body="${JSON.stringify(example, undefined, 2)}">Body</h4><p>JSON: ${renderKind(schema)}</p>${resolved === undefined ? "" : renderProperties(resolved)}`;
}

function renderErrors(operation: PlacedOperation): Html | string {
  const errors = errorsOf(operation);
  if (errors.length === 0) return "";
  return html`<h4>Errors</h4><ul class="codes">${errors.map(
    ([code, status]) => html`<li>${status} <a href="/docs#error-${code}">${code}</a></li>`,
  )}</ul>`;
}

/** One example for each body that differs, under the statuses that have it. */
function renderResponseExamples({ responses }: PlacedOperation, schemas: Schemas): Html {
  const shown = new Map<string, { statuses: string[]; type: string; value: unknown }>();
  for (const [status, { content }] of Object.entries(responses)) {
    if (status >= "3") continue;
    for (const [mediaType, { schema, example, examples }] of Object.entries(content ?? {})) {
      const name = schema?.$ref === undefined ? undefined : componentName(schema.$ref);
      const known = name === undefined ? schema?.example : schemas[name]?.example;
      const value = example ?? Object.values(examples ?? {})[0]?.value ?? known;
      if (value === undefined) continue;
      const type = mediaType === "application/json" ? (name ?? "JSON") : mediaType;
      const { statuses } = shown.get(`${type} ${JSON.stringify(value)}`) ?? { statuses: [] };
      shown.set(`${type} ${JSON.stringify(value)}`, { statuses: [...statuses, status], type, value });
    }
  }
  return html`${[...shown.values()].map(({ statuses, type, value }) =>
    renderExample(`Response ${statuses.join(" and ")}: ${type}`, value),
  )}`;
}

/** An example with its caption: JSON with its keys marked, or text as it is. */
export function renderExample(caption: string, value: unknown): Html | string {
  if (value === undefined) return "";
  return html`<figure><figcaption>${caption}</figcaption><pre>${typeof value === "string" ? value : renderJson(value)}</pre></figure>`;
}

/** Keys and values of JSON in elements of their own, for their colors. */
function renderJson(value: unknown): Html {
  const text = JSON.stringify(value, undefined, 2);
  const parts = text.split(/("(?:[^"\\]|\\.)*")/);
  return html`${parts.map((part, index) => {
    if (index % 2 === 0) return part;
    return parts[index + 1]?.startsWith(":") === true ? html`<i>${part}</i>` : html`<b>${part}</b>`;
  })}`;
}

/** A component: its fields, and its example. */
export function renderComponent(schema: Schema): Html {
  return html`<div class="words">${renderDetails({ ...schema, properties: undefined })}${
    schema.properties === undefined ? html`<p>${renderKind(schema)}</p>` : renderProperties(schema)
  }</div>
<div class="examples">${renderExample("Example", schema.example)}</div>`;
}

function renderProperties(schema: Schema): Html {
  const required = new Set(schema.required);
  return html`<ul class="fields">${Object.entries(schema.properties ?? {}).map(
    ([name, property]) =>
      html`<li><code class="name">${name}</code> <span class="type">${renderKind(property)}${required.has(name) ? ", required" : ""}</span>
${renderDetails(property)}</li>`,
  )}</ul>`;
}

function renderContent(content: Content): Html[] {
  return Object.entries(content ?? {}).map(
    ([mediaType, { schema }], index) =>
      html`${index === 0 ? "" : " or "}${
        mediaType === "application/json" && schema !== undefined ? renderKind(schema) : mediaType
      }`,
  );
}

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "UUID",
  "date-time": "time (RFC 3339)",
  date: "date",
  uri: "URL",
  email: "email address",
};

/** What a value is, in a few words; a component as a link to it. */
function renderKind(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = componentName(schema.$ref);
    return html`<a href="/docs#schema-${name}">${name}</a>`;
  }
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined)
    return html`${branches.map((branch, index) => html`${index === 0 ? "" : " or "}${renderKind(branch)}`)}`;
  const types = [schema.type ?? "any value"].flat();
  return html`${types.map((type, index) => html`${index === 0 ? "" : " or "}${nameType(type, schema)}`)}`;
}

function nameType(type: string, { format, items }: Schema): Html | string {
  if (type === "array") return html`list${items === undefined ? "" : html` of ${renderKind(items)}`}`;
  return type === "string" && format !== undefined ? (FORMATS[format] ?? type) : type;
}

/** What a value means, then its bounds in words, its values, and its pattern last. */
function renderDetails(schema: Schema): Html {
  const { description, items, properties, pattern } = schema;
  const facts = listFacts(schema);
  const values = schema.enum ?? items?.enum;
  const inner = items !== undefined && items.$ref === undefined ? items : undefined;
  return html`${description === undefined ? "" : renderParagraphs(description)}
${facts.length === 0 ? "" : html`<p class="facts">${facts.join(". ")}.</p>`}
${values === undefined ? "" : html`<p class="facts">One of ${values.map((value, index) => html`${index === 0 ? "" : ", "}<code>${String(value)}</code>`)}.</p>`}
${pattern === undefined || pattern === ANY_TEXT ? "" : html`<p class="facts">Pattern: <code>${pattern}</code></p>`}
${properties === undefined ? "" : renderProperties(schema)}${inner?.properties === undefined ? "" : renderProperties(inner)}`;
}

/** The bounds of a value as parts of a sentence. */
function listFacts(schema: Schema): string[] {
  const bounds = (unit: string, least: unknown, most: unknown): string[] => {
    const maximum = typeof most === "number" && most < Number.MAX_SAFE_INTEGER ? most : undefined;
    const minimum = typeof least === "number" && least > Number.MIN_SAFE_INTEGER ? least : undefined;
    if (minimum !== undefined && maximum !== undefined)
      return [minimum === maximum ? `${minimum}${unit}` : `${minimum} to ${maximum}${unit}`];
    if (maximum !== undefined) return [`At most ${maximum}${unit}`];
    return minimum === undefined ? [] : [`At least ${minimum}${unit}`];
  };
  const isText = [schema.type].flat().includes("string") && schema.format === undefined;
  return [
    ...(isText && schema.enum === undefined ? bounds(" characters", schema.minLength, schema.maxLength) : []),
    ...bounds("", schema.minimum, schema.maximum),
    ...bounds(" entries", schema.minItems, schema.maxItems),
    ...(schema.default === undefined ? [] : [`Default: ${JSON.stringify(schema.default)}`]),
    ...(schema.deprecated === true ? ["Deprecated"] : []),
  ];
}

/** Paragraphs, with `code` in backquotes. */
export function renderParagraphs(text: string): Html {
  return html`${text.split("\n\n").map((paragraph) => html`<p>${renderText(paragraph)}</p>`)}`;
}

/** Text with `code` in backquotes. */
export function renderText(text: string): Html {
  return html`${text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}
