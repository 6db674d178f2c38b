import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { rememberSecrets, rememberSeen } from "../seen/seen.ts";
import { type DocumentedResponse, document, type Place, places } from "./document.ts";
import { findUntruths, type Installing } from "./record-rules.ts";

interface ObservedResponse {
  method: string;
  /** With or without host and query. */
  url: string;
  status: number;
  headers: Headers;
  /** Undefined for a stream, which is not read. */
  text: string | undefined;
}

const NAME = "document";
const ajv = createValidator();
const installing: Installing = new Map();
const validators = new Map<object, ValidateFunction>();
const patterns = places.map((place) => ({ place, pattern: toPattern(place.path) }));

let acceptsMissingFields = false;

/** From now on a field may be missing in this process: a program of the version before does not have those that are new. */
export function acceptVersionBefore(): void {
  acceptsMissingFields = true;
}

/** `fetch` with a check of the response: see requireConformance. */
export async function fetchConforming(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  await requireConformance(url, init, response);
  return response;
}

/**
 * Checks a response against the OpenAPI document: status, media type, headers, and the body with each of its fields
 * are declared, and its records do not contradict themselves. Rejects with an Error that lists every fault. Responses
 * of no operation (405, unknown paths) pass. Records for the run of tests that this status of this operation occurred,
 * the messages about fields of a refused request, and the credentials sent and received.
 */
export async function requireConformance(
  url: string,
  { method = "GET", headers: sent }: Pick<RequestInit, "method" | "headers">,
  response: Response,
): Promise<void> {
  const { status, headers } = response;
  const isStream = headers.get("content-type") === "text/event-stream";
  const text = isStream ? undefined : await response.clone().text();
  rememberSecrets(new Headers(sent).get("authorization"), text);
  check({ method, url, status, headers, text });
}

function check(seen: ObservedResponse): void {
  const { pathname } = new URL(seen.url, "http://marina");
  const place = patterns.find(
    ({ place: { method }, pattern }) => method === seen.method && pattern.test(pathname),
  )?.place;
  if (place === undefined) return;
  const faults = [...findFaults(place, seen), ...findUntruthsOf(pathname, seen)];
  if (faults.length > 0) {
    const what = `${seen.method} ${pathname} returned ${seen.status}, which does not conform to ${place.operation.operationId}`;
    throw new Error(`${what}:\n${faults.join("\n")}\n${seen.text?.slice(0, 2000) ?? ""}`);
  }
  rememberSeen("response", `${place.operation.operationId} ${seen.status}`);
  rememberMessages(place.operation.operationId, seen);
  if (!pathname.startsWith("/api/v1/admin/")) rememberTexts(place.operation.operationId, seen);
}

/** A dry run answers what would be, not what is. */
function findUntruthsOf(pathname: string, { url, status, headers, text }: ObservedResponse): string[] {
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  if (text === undefined || !isJson || status >= 300 || url.includes("dry_run=true")) return [];
  return findUntruths(pathname, JSON.parse(text), installing);
}

/** The messages about fields of a refused request. */
function rememberMessages(operationId: string, { status, text = "" }: ObservedResponse): void {
  if (status !== 400 && status !== 422) return;
  const { details = [] } = JSON.parse(text).error;
  for (const { code, message } of details)
    rememberSeen("message", JSON.stringify({ operationId, code, message }));
}

/** What an operation says to tenants about their clusters. */
function rememberTexts(operationId: string, { status, text = "", headers }: ObservedResponse): void {
  if (status >= 300 || !headers.get("content-type")?.startsWith("application/json")) return;
  JSON.parse(text, (key, value) => {
    const isText = (key === "status_message" || key === "message") && typeof value === "string";
    if (isText) rememberSeen("text", JSON.stringify({ where: operationId, text: value }));
    return value;
  });
}

function findFaults({ operation }: Place, { status, headers, text }: ObservedResponse): string[] {
  const declared = operation.responses[status];
  if (declared === undefined) return [`the status ${status} is not declared`];
  return [...findHeaderFaults(declared, headers), ...findBodyFaults(declared, headers, text)];
}

function findHeaderFaults({ headers: declared = {} }: DocumentedResponse, headers: Headers): string[] {
  return Object.entries(declared).flatMap(([name, { $ref }]) => {
    const text = headers.get(name);
    if (text === null) return name === "X-Request-Id" ? [`no header ${name}`] : [];
    const schema = document.components.headers[$ref.split("/").at(-1) ?? ""]?.schema;
    if (schema === undefined) return [`the header ${name} is not described`];
    const value = "type" in schema && schema.type === "integer" ? Number(text) : text;
    return validate(schema, value, `header ${name}`);
  });
}

function findBodyFaults(
  { content }: DocumentedResponse,
  headers: Headers,
  text: string | undefined,
): string[] {
  const type = headers.get("content-type")?.split(";")[0];
  if (content === undefined) return text ? ["a body where none is declared"] : [];
  const schema = content[type ?? ""]?.schema;
  if (schema === undefined) return [`the media type ${String(type)} is not declared`];
  if (text === undefined) return [];
  return validate(schema, type === "application/json" ? JSON.parse(text) : text, "body");
}

function validate(schema: object, value: unknown, where: string): string[] {
  let accepts = validators.get(schema);
  if (accepts === undefined) {
    accepts = ajv.compile(absolute(schema));
    validators.set(schema, accepts);
  }
  if (accepts(value)) return [];
  return (accepts.errors ?? [])
    .filter(({ keyword }) => keyword !== "required" || !acceptsMissingFields)
    .map(({ instancePath, message, params }) =>
      [where, instancePath, message, JSON.stringify(params)].join(" "),
    );
}

function createValidator(): Ajv2020 {
  // Not strict: OpenAPI has keywords that JSON Schema has not, such as `example`.
  const instance = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(instance);
  instance.addSchema({ $id: NAME, components: closed(document.components) });
  return instance;
}

/** References reach into the document from wherever a schema is compiled. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${NAME}#/`));
}

/** Clients must ignore unknown fields, but this service must not send any: objects are closed for the check. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, closed(entry)]));
  const isRecord = copy.type === "object" && typeof copy.properties === "object";
  return isRecord ? { additionalProperties: false, ...copy } : copy;
}

function toPattern(path: string): RegExp {
  const parts = path.split(/\{.+?\}/).map((part) => part.replaceAll(/[.*+?^$()[\]\\|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^/]+")}$`);
}
