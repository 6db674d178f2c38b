import { z } from "zod";

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  maxLength: z.number().optional(),
  maxItems: z.number().optional(),
  maxProperties: z.number().optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
  propertyNames: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});

/** A control character has these in JSON: \u001f. */
const BYTES_PER_CHARACTER = 6;
const QUOTES = 2;
/** The longest number in JSON: -1.2345678901234567e+308. */
const NUMBER_BYTES = 24;

/**
 * The most bytes that JSON of a schema of the OpenAPI document can have; Infinity where it admits anything. Throws for a
 * text, list or map without a bound. No schema may refer to itself.
 */
export function findMaxJsonBytes(schema: unknown, schemas: Readonly<Record<string, unknown>>): number {
  const bytesOf = (one: unknown) => findMaxJsonBytes(one, schemas);
  const given = schemaShape.parse(schema);
  if (given.$ref !== undefined) return bytesOf(schemas[given.$ref.split("/").at(-1) ?? ""]);
  if (given.const !== undefined) return sizeOf(given.const);
  if (given.enum !== undefined) return Math.max(...given.enum.map(sizeOf));
  const options = given.anyOf ?? given.oneOf;
  if (options !== undefined) return Math.max(...options.map(bytesOf));
  const types = [given.type].flat();
  if (types.includes("string"))
    return QUOTES + bound(given.maxLength, given) * (given.format === undefined ? BYTES_PER_CHARACTER : 1);
  if (types.includes("array")) return QUOTES + bound(given.maxItems, given) * (bytesOf(given.items) + 1);
  if (types.includes("object")) return findMaxObjectBytes(given, bytesOf);
  if (types.includes("boolean")) return "false".length;
  if (types.includes("integer") || types.includes("number")) return NUMBER_BYTES;
  if (types.includes("null")) return "null".length;
  return Number.POSITIVE_INFINITY;
}

function findMaxObjectBytes(
  given: z.output<typeof schemaShape>,
  bytesOf: (schema: unknown) => number,
): number {
  const fields = Object.entries(given.properties ?? {}).map(
    ([name, property]) => sizeOf(name) + 2 + bytesOf(property),
  );
  if (typeof given.additionalProperties !== "object" || given.additionalProperties === null)
    return QUOTES + sum(fields);
  const entry =
    bytesOf(given.propertyNames ?? { type: "string", maxLength: 317 }) +
    2 +
    bytesOf(given.additionalProperties);
  return QUOTES + sum(fields) + bound(given.maxProperties, given) * entry;
}

function bound(limit: number | undefined, schema: unknown): number {
  if (limit === undefined) throw new Error(`no bound in ${JSON.stringify(schema)}`);
  return limit;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
