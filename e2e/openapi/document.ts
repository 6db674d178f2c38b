import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The committed document. */
export const DOCUMENT_FILE = join(import.meta.dirname, "..", "..", "apiserver", "openapi", "openapi.json");

/** What this folder reads of the document; more is in it. */
export interface Operation {
  operationId: string;
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

export const document: Document = JSON.parse(readFileSync(DOCUMENT_FILE, "utf8"));

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
