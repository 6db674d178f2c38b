import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IGNORED, IMMUTABLE, renderOpenApi } from "../../../apiserver/openapi/render.ts";

/** What is made of the document, and not committed. */
export const GENERATED_FOLDER = join(import.meta.dirname, "generated");

/** What this folder reads of the document; more is in it. */
export interface Operation {
  operationId: string;
  requestBody?: unknown;
  security?: unknown[];
  responses: Record<string, DocumentedResponse>;
}

export interface DocumentedResponse {
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, { schema: object; examples?: Record<string, unknown> }>;
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; headers: Record<string, { schema: object }> };
}

/** An operation with where it is found. */
export interface Place {
  /** In upper case. */
  method: string;
  /** With `{name}` parameters. */
  path: string;
  operation: Operation;
}

/** The document as the API server of this checkout serves it. */
export const documentText = renderOpenApi();

export const document: Document = JSON.parse(documentText);

/** Writes the document for the tools that read a file. Returns its path. Safe to call from several processes. */
export function writeDocument(): string {
  const file = join(GENERATED_FOLDER, "openapi.json");
  mkdirSync(GENERATED_FOLDER, { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, documentText);
  renameSync(draft, file);
  return file;
}

/**
 * For JSON.stringify: the document without the types of the fields of a PUT whose values are ignored or compared. A value of
 * another type is accepted there or refused as a change, and what such a type gains is asked of no client.
 */
export function withoutRepeatedTypes(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("description" in value)) return value;
  const { description } = value;
  return description === IGNORED || description === IMMUTABLE ? { description } : value;
}

/** Every operation of the document. */
export const places: readonly Place[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** The operation of this id. Throws when there is none. */
export function findPlace(operationId: string): Place {
  const place = places.find(({ operation }) => operation.operationId === operationId);
  if (place === undefined) throw new Error(`the document has no operation ${operationId}`);
  return place;
}
