/** Any value of a JSON document. */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const METHODS = ["get", "put", "post", "delete"];
/** Formats whose length is bounded by what they are. */
const BOUNDED_FORMATS = new Set(["uuid", "date-time", "date", "ipv4", "ipv6"]);
const ID_IN_CODE = /^[a-z][A-Za-z]+$/;

/**
 * Holds an OpenAPI document to what clients, generators and gateways rely on. Returns one line per fault: where, and
 * what is missing. Every operation: id, tag, summary, security, all statuses, described answers with an example; every
 * schema: a description, and a bound on each string, list, map and number; bodies that are closed.
 */
export function lintOpenApi(document: JsonObject): string[] {
  const faults: string[] = [];
  const report = (where: string, what: string) => void faults.push(`${where}: ${what}`);
  const tags = new Set(objectsOf(document.tags).map(({ name }) => name));
  const ids = new Set<Json>();
  for (const [path, item] of entriesOf(document.paths)) {
    for (const method of METHODS) {
      const operation = asObject(item[method]);
      if (operation === undefined) continue;
      const where = `${method.toUpperCase()} ${path}`;
      lintOperation(operation, { path, where, document, report });
      for (const tag of listOf(operation.tags))
        if (!tags.has(tag)) report(where, `tag ${textOf(tag)} is not declared`);
      if (ids.has(operation.operationId ?? null)) report(where, "operationId is used twice");
      ids.add(operation.operationId ?? null);
    }
  }
  const components = asObject(document.components) ?? {};
  for (const [name, schema] of entriesOf(components.schemas)) {
    lintSchema(schema, { where: `schema ${name}`, described: true, report });
  }
  for (const [name, header] of entriesOf(components.headers)) {
    if (header.description === undefined) report(`header ${name}`, "no description");
    lintSchema(asObject(header.schema) ?? {}, { where: `header ${name}`, described: true, report });
  }
  return faults;
}

interface OperationScope {
  path: string;
  where: string;
  document: JsonObject;
  report: (where: string, what: string) => void;
}

function lintOperation(operation: JsonObject, scope: OperationScope): void {
  const { where, report, path } = scope;
  if (!ID_IN_CODE.test(textOf(operation.operationId))) report(where, "no operationId in camelCase");
  if (operation.summary === undefined) report(where, "no summary");
  if (listOf(operation.tags).length !== 1) report(where, "not exactly one tag");
  if (operation.security === undefined) report(where, "no security");
  const parameters = objectsOf(operation.parameters);
  for (const parameter of parameters) lintParameter(parameter, scope);
  for (const name of [...path.matchAll(/\{(.+?)\}/g)].map((match) => match[1])) {
    if (!parameters.some((one) => one.name === name && one.in === "path"))
      report(where, `path parameter ${name} is not described`);
  }
  lintStatuses(operation, scope);
  const body = asObject(operation.requestBody);
  for (const [type, media] of entriesOf(body?.content)) {
    lintMedia(media, { ...scope, where: `${where} body ${type}` });
    if (resolve(scope.document, asObject(media.schema)).additionalProperties !== false)
      report(where, "the body takes unknown fields");
  }
  for (const [status, response] of entriesOf(operation.responses)) {
    const at = `${where} ${status}`;
    if (response.description === undefined || response.description === "") report(at, "no description");
    if (asObject(response.headers)?.["X-Request-Id"] === undefined) report(at, "no header X-Request-Id");
    for (const [type, media] of entriesOf(response.content)) {
      lintMedia(media, { ...scope, where: `${at} ${type}` });
    }
  }
}

function lintParameter(parameter: JsonObject, { where, report }: OperationScope): void {
  const at = `${where} ${textOf(parameter.in)} ${textOf(parameter.name)}`;
  if (parameter.description === undefined) report(at, "no description");
  const schema = asObject(parameter.schema);
  if (schema === undefined) report(at, "no schema");
  else lintSchema(schema, { where: at, described: true, report });
}

/** The statuses that follow from the form of an operation. */
function lintStatuses(operation: JsonObject, { path, where, report }: OperationScope): void {
  const open = listOf(operation.security).length === 0;
  const expected = ["400", "500"];
  if (!open) expected.push("401", "429", "503");
  if (path.includes("{")) expected.push("403", "404");
  if (operation.requestBody !== undefined) expected.push("413", "415", "422");
  const statuses = Object.keys(asObject(operation.responses) ?? {});
  for (const status of expected) if (!statuses.includes(status)) report(where, `no answer ${status}`);
  if (!statuses.some((status) => /^[23]/.test(status))) report(where, "no answer that is a success");
  for (const [status, header] of [
    ["401", "WWW-Authenticate"],
    ["429", "Retry-After"],
    ["503", "Retry-After"],
    ["201", "Location"],
    ["202", "Location"],
  ] as const) {
    const response = asObject(asObject(operation.responses)?.[status]);
    if (response !== undefined && asObject(response.headers)?.[header] === undefined)
      report(`${where} ${status}`, `no header ${header}`);
  }
}

function lintMedia(media: JsonObject, { where, document, report }: OperationScope): void {
  const schema = asObject(media.schema);
  if (schema === undefined) {
    report(where, "no schema");
    return;
  }
  if (!where.endsWith("application/json")) return;
  const shown = media.example ?? media.examples ?? resolve(document, schema).example;
  if (shown === undefined) report(where, "no example");
  if (schema.$ref === undefined) report(where, "the schema is no component");
}

interface SchemaScope {
  where: string;
  /** Something beside the schema says already what it is. */
  described: boolean;
  report: (where: string, what: string) => void;
}

function lintSchema(schema: JsonObject, scope: SchemaScope): void {
  const { where, report } = scope;
  if (schema.$ref !== undefined) return;
  if (!scope.described && schema.description === undefined) report(where, "no description");
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    for (const [index, branch] of objectsOf(schema[keyword]).entries())
      lintSchema(branch, { where: `${where} ${keyword} ${index}`, described: true, report });
  }
  const types = [schema.type ?? []].flat();
  const closed = schema.enum !== undefined || schema.const !== undefined;
  if (closed) return;
  if (types.includes("string")) {
    const bounded = schema.maxLength !== undefined || BOUNDED_FORMATS.has(textOf(schema.format));
    if (!bounded) report(where, "a string without maxLength");
  }
  if (types.includes("integer") || types.includes("number")) {
    const low = schema.minimum ?? schema.exclusiveMinimum;
    const high = schema.maximum ?? schema.exclusiveMaximum;
    if (low === undefined || high === undefined) report(where, "a number without minimum and maximum");
  }
  if (types.includes("array")) {
    if (schema.maxItems === undefined) report(where, "a list without maxItems");
    lintSchema(asObject(schema.items) ?? {}, { where: `${where}[]`, described: true, report });
  }
  for (const [name, property] of entriesOf(schema.properties))
    lintSchema(property, { where: `${where}.${name}`, described: false, report });
  const others = asObject(schema.additionalProperties);
  if (others !== undefined) {
    if (schema.maxProperties === undefined) report(where, "a map without maxProperties");
    lintSchema(others, { where: `${where}.*`, described: true, report });
  }
}

function resolve(document: JsonObject, schema: JsonObject | undefined): JsonObject {
  const name = /^#\/components\/schemas\/(.+)$/.exec(textOf(schema?.$ref))?.[1];
  if (name === undefined) return schema ?? {};
  return asObject(asObject(asObject(document.components)?.schemas)?.[name]) ?? {};
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function asObject(value: Json | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function entriesOf(value: Json | undefined): [string, JsonObject][] {
  return Object.entries(asObject(value) ?? {}).flatMap(([key, entry]) => {
    const object = asObject(entry);
    return object === undefined ? [] : [[key, object]];
  });
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function objectsOf(value: Json | undefined): JsonObject[] {
  return listOf(value)
    .map(asObject)
    .filter((entry) => entry !== undefined);
}
