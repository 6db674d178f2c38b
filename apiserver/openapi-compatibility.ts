import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findSchemaBreaks, type JsonSchema } from "../shared/schema-compatibility.ts";
import { renderOpenApi } from "./openapi.ts";

/** The interface as clients have it: replaced only when a release is made. */
const RELEASED_COPY = join(import.meta.dirname, "openapi.released.json");
const METHODS = ["get", "put", "post", "delete"];

type Node = Record<string, unknown>;

/**
 * Compares two OpenAPI documents of this API. Returns one line per change that breaks a client of the older one: an
 * operation, status, code, parameter or header that is gone; a request that is refused now; an answer that misses
 * something or has another type.
 */
export function findOpenApiBreaks(before: Node, after: Node): string[] {
  const resolvers = { resolveBefore: resolverOf(before), resolveAfter: resolverOf(after) };
  return Object.entries(nodeOf(before.paths)).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const was = nodeOf(item)[method];
      if (was === undefined) return [];
      const where = `${method.toUpperCase()} ${path}`;
      const is = nodeOf(nodeOf(after.paths)[path])[method];
      if (is === undefined) return [`${where}: the operation is gone`];
      return compareOperations({ was: nodeOf(was), is: nodeOf(is), where, resolvers });
    }),
  );
}

interface OperationPair {
  was: Node;
  is: Node;
  where: string;
  resolvers: {
    resolveBefore: (ref: string) => JsonSchema;
    resolveAfter: (ref: string) => JsonSchema;
  };
}

function compareOperations(pair: OperationPair): string[] {
  const { was, is, where } = pair;
  const renamed =
    was.operationId === is.operationId ? [] : [`${where}: the operationId was ${String(was.operationId)}`];
  return [
    ...renamed,
    ...compareSecurity(pair),
    ...compareParameters(pair),
    ...compareBodies(pair),
    ...compareAnswers(pair),
  ];
}

/** Whoever was let in must still be: each alternative of credential and permission. */
function compareSecurity({ was, is, where }: OperationPair): string[] {
  const open = new Set(nodesOf(is.security).map((one) => JSON.stringify(one)));
  if (open.size === 0) return [];
  if (nodesOf(was.security).length === 0) return [`${where}: a credential is needed now`];
  return nodesOf(was.security)
    .map((one) => JSON.stringify(one))
    .filter((one) => !open.has(one))
    .map((one) => `${where}: ${one} no longer opens it`);
}

function compareParameters({ was, is, where, resolvers }: OperationPair): string[] {
  const keyOf = (parameter: Node) => `${String(parameter.in)} parameter ${String(parameter.name)}`;
  const known = new Map(nodesOf(was.parameters).map((one) => [keyOf(one), one]));
  const now = new Map(nodesOf(is.parameters).map((one) => [keyOf(one), one]));
  const changed = [...known].flatMap(([key, before]) => {
    const after = now.get(key);
    const at = `${where} ${key}`;
    if (after === undefined) return [`${at}: it is gone`];
    const required = after.required === true && before.required !== true ? [`${at}: it is required now`] : [];
    const schemas = { before: nodeOf(before.schema), after: nodeOf(after.schema), where: at, ...resolvers };
    return [...required, ...findSchemaBreaks({ ...schemas, direction: "accepted" })];
  });
  const added = [...now].filter(([key, one]) => one.required === true && !known.has(key));
  return [...changed, ...added.map(([key]) => `${where} ${key}: a new required parameter`)];
}

function compareBodies({ was, is, where, resolvers }: OperationPair): string[] {
  const [before, after] = [nodeOf(was.requestBody), nodeOf(is.requestBody)];
  if (was.requestBody === undefined)
    return after.required === true ? [`${where}: a body is required now`] : [];
  return compareContents(
    nodeOf(before.content),
    nodeOf(after.content),
    `${where} body`,
    "accepted",
    resolvers,
  );
}

function compareAnswers({ was, is, where, resolvers }: OperationPair): string[] {
  return Object.entries(nodeOf(was.responses)).flatMap(([status, response]) => {
    const at = `${where} ${status}`;
    const now = nodeOf(is.responses)[status];
    if (now === undefined) return [`${at}: the status is gone`];
    const [before, after] = [nodeOf(response), nodeOf(now)];
    const headers = Object.keys(nodeOf(before.headers))
      .filter((name) => nodeOf(after.headers)[name] === undefined)
      .map((name) => `${at}: the header ${name} is gone`);
    const contents = [nodeOf(before.content), nodeOf(after.content)] as const;
    return [
      ...headers,
      ...compareCodes(...contents, at),
      ...compareContents(...contents, at, "given", resolvers),
    ];
  });
}

/** The examples of an error answer are named by the codes that it can carry. */
function compareCodes(before: Node, after: Node, where: string): string[] {
  const codesIn = (content: Node) => Object.keys(nodeOf(nodeOf(content["application/json"]).examples));
  const now = new Set(codesIn(after));
  return codesIn(before)
    .filter((code) => !now.has(code))
    .map((code) => `${where}: the code ${code} is gone`);
}

function compareContents(
  before: Node,
  after: Node,
  where: string,
  direction: "accepted" | "given",
  resolvers: OperationPair["resolvers"],
): string[] {
  return Object.entries(before).flatMap(([type, media]) => {
    const now = after[type];
    if (now === undefined) return [`${where}: the media type ${type} is gone`];
    const schemas = { before: nodeOf(nodeOf(media).schema), after: nodeOf(nodeOf(now).schema) };
    return findSchemaBreaks({ ...schemas, where, direction, ...resolvers });
  });
}

function resolverOf(document: Node): (ref: string) => JsonSchema {
  const schemas = nodeOf(nodeOf(document.components).schemas);
  return (ref) => nodeOf(schemas[ref.replace("#/components/schemas/", "")]);
}

function nodeOf(value: unknown): Node {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Node) : {};
}

function nodesOf(value: unknown): Node[] {
  return Array.isArray(value) ? value.map(nodeOf) : [];
}

if (import.meta.main) {
  const text = renderOpenApi();
  const breaks = findOpenApiBreaks(JSON.parse(readFileSync(RELEASED_COPY, "utf8")), JSON.parse(text));
  const renewing = process.argv.includes("--renew");
  if (breaks.length > 0 && !process.argv.includes("--break")) {
    process.stderr.write(`The API breaks clients of the released one:\n  ${breaks.join("\n  ")}\n`);
    process.exitCode = 1;
  } else if (renewing) {
    writeFileSync(RELEASED_COPY, text);
  }
}
