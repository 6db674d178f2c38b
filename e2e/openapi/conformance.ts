import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { rememberSecrets, rememberSeen } from "../seen/seen.ts";
import { type Answer, document, type Place, places } from "./document.ts";

interface SeenAnswer {
  method: string;
  /** With or without host and query. */
  url: string;
  status: number;
  headers: Headers;
  /** Undefined where it is not read, as of a stream. */
  text: string | undefined;
}

const NAME = "document";
const ajv = createValidator();
const validators = new Map<object, ValidateFunction>();
const patterns = places.map((place) => ({ place, pattern: toPattern(place.path) }));

/** `fetch`, and the answer is held to the document: see requireConformance. */
export async function fetchConforming(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  await requireConformance(url, init, response);
  return response;
}

/**
 * Holds an answer to the document: the status is declared, so are the media type and the body with each of its fields,
 * and the headers are of the declared form. Rejects with an Error that names every fault. Answers of no operation
 * (405, unknown addresses) pass. Notes for the run of tests that this status of this operation was seen, and the
 * credentials that went either way.
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

function check(seen: SeenAnswer): void {
  const { pathname } = new URL(seen.url, "http://marina");
  const place = patterns.find(
    ({ place: { method }, pattern }) => method === seen.method && pattern.test(pathname),
  )?.place;
  if (place === undefined) return;
  const faults = findFaults(place, seen);
  if (faults.length > 0) {
    const what = `${seen.method} ${pathname} answered ${seen.status}, and not as ${place.operation.operationId} says`;
    throw new Error(`${what}:\n${faults.join("\n")}\n${seen.text?.slice(0, 2000) ?? ""}`);
  }
  rememberSeen("response", `${place.operation.operationId} ${seen.status}`);
}

function findFaults({ operation }: Place, { status, headers, text }: SeenAnswer): string[] {
  const answer = operation.responses[status];
  if (answer === undefined) return [`the status ${status} is not declared`];
  return [...findHeaderFaults(answer, headers), ...findBodyFaults(answer, headers, text)];
}

function findHeaderFaults({ headers: declared = {} }: Answer, headers: Headers): string[] {
  return Object.entries(declared).flatMap(([name, { $ref }]) => {
    const text = headers.get(name);
    if (text === null) return name === "X-Request-Id" ? [`no header ${name}`] : [];
    const schema = document.components.headers[$ref.split("/").at(-1) ?? ""]?.schema;
    if (schema === undefined) return [`the header ${name} is not described`];
    const value = "type" in schema && schema.type === "integer" ? Number(text) : text;
    return validate(schema, value, `header ${name}`);
  });
}

function findBodyFaults({ content }: Answer, headers: Headers, text: string | undefined): string[] {
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
  return (accepts.errors ?? []).map(({ instancePath, message, params }) =>
    [where, instancePath, message, JSON.stringify(params)].join(" "),
  );
}

function createValidator(): Ajv2020 {
  // Not strict: the document's own words, such as `example`, are no keywords of JSON Schema.
  const instance = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(instance);
  instance.addSchema({ $id: NAME, components: closed(document.components) });
  return instance;
}

/** References reach into the document from wherever a schema is compiled. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${NAME}#/`));
}

/** A client must bear a field that it does not know; this service must not send one that the document does not. */
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
