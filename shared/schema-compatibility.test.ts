import { expect, test } from "vitest";
import { findSchemaBreaks, type JsonSchema } from "./schema-compatibility.ts";

const breaks = (direction: "accepted" | "given", before: JsonSchema, after: JsonSchema) =>
  findSchemaBreaks({ before, after, direction, where: "x" });

const object = (properties: Record<string, JsonSchema>, required: string[] = []): JsonSchema => ({
  type: "object",
  properties,
  required,
});
const text: JsonSchema = { type: "string" };
const integer: JsonSchema = { type: "integer" };

test.each<[string, JsonSchema, JsonSchema]>([
  ["a field that is gone", object({ a: text }), object({})],
  ["a field of another type", object({ a: text }), object({ a: integer })],
  [
    "a field in a list that is gone",
    { type: "array", items: object({ a: text }) },
    { type: "array", items: object({}) },
  ],
  ["an enum with a value less", { type: "string", enum: ["a", "b"] }, { type: "string", enum: ["a"] }],
])("both to write and to read: %s is a break", (_, before, after) => {
  expect(breaks("accepted", before, after)).not.toEqual([]);
  expect(breaks("given", before, after)).not.toEqual([]);
});

test.each<[string, JsonSchema, JsonSchema]>([
  ["a field that is required now", object({ a: text }), object({ a: text }, ["a"])],
  ["a new required field", object({}), object({ a: text }, ["a"])],
  ["an enum where any text was fine", text, { type: "string", enum: ["a"] }],
  ["a lower maximum", { ...integer, maximum: 10 }, { ...integer, maximum: 9 }],
  ["a maximum where there was none", integer, { ...integer, maximum: 9 }],
  ["a higher minimum", { ...integer, minimum: 0 }, { ...integer, minimum: 1 }],
  ["a longer least length", text, { ...text, minLength: 1 }],
  ["a shorter list", { type: "array", maxItems: 3 }, { type: "array", maxItems: 2 }],
  ["another pattern", { ...text, pattern: "a" }, { ...text, pattern: "b" }],
  ["a format", text, { ...text, format: "email" }],
  ["another default", { ...integer, default: 1 }, { ...integer, default: 2 }],
  ["unknown fields refused", object({}), { ...object({}), additionalProperties: false }],
  ["null refused", { type: ["string", "null"] }, text],
  ["null refused, as definitions write it", { ...text, nullable: true }, text],
  ["numbers refused but for whole ones", { type: "number" }, integer],
  ["an alternative less", { anyOf: [text, integer] }, { anyOf: [text] }],
  ["a new rule", object({}), { ...object({}), "x-kubernetes-validations": [{ rule: "self.a" }] }],
])("what is accepted: %s is a break", (_, before, after) => {
  expect(breaks("accepted", before, after)).not.toEqual([]);
});

test.each<[string, JsonSchema, JsonSchema]>([
  ["a field that may be absent now", object({ a: text }, ["a"]), object({ a: text })],
  ["null where there was none", text, { type: ["string", "null"] }],
  ["fractions where there were whole numbers", integer, { type: "number" }],
  ["any value where there was an enum", { type: "string", enum: ["a"] }, text],
  ["an alternative less", { anyOf: [text, integer] }, { anyOf: [text] }],
])("what is given: %s is a break", (_, before, after) => {
  expect(breaks("given", before, after)).not.toEqual([]);
});

test.each<[string, JsonSchema, JsonSchema]>([
  ["a new optional field", object({}), object({ a: text })],
  ["a field that is optional now", object({ a: text }, ["a"]), object({ a: text })],
  ["a wider enum", { type: "string", enum: ["a"] }, { type: "string", enum: ["a", "b"] }],
  ["a wider bound", { ...integer, maximum: 9 }, { ...integer, maximum: 10 }],
  ["a better message of a rule", rule("self.a", "bad"), rule("self.a", "must have a")],
  ["a rule less", rule("self.a", ""), object({})],
])("what is accepted: %s is no break", (_, before, after) => {
  expect(breaks("accepted", before, after)).toEqual([]);
});

test.each<[string, JsonSchema, JsonSchema]>([
  ["a new field", object({}), object({ a: text }, ["a"])],
  ["a wider enum", { type: "string", enum: ["a"] }, { type: "string", enum: ["a", "b"] }],
  ["a new alternative", { anyOf: [text] }, { anyOf: [text, integer] }],
  ["null that no longer comes", { type: ["string", "null"] }, text],
])("what is given: %s is no break", (_, before, after) => {
  expect(breaks("given", before, after)).toEqual([]);
});

test("a break behind references is found, and references in a circle end", () => {
  const tree = (field: JsonSchema) => ({ Tree: object({ value: field, child: { $ref: "Tree" } }) });
  const of = (field: JsonSchema) => (ref: string) => tree(field)[ref as "Tree"];
  const pair = { before: { $ref: "Tree" }, after: { $ref: "Tree" }, direction: "given" as const, where: "x" };
  expect(findSchemaBreaks({ ...pair, resolveBefore: of(text), resolveAfter: of(integer) })).toEqual([
    "x.value: the type was string, now integer",
  ]);
  expect(findSchemaBreaks({ ...pair, resolveBefore: of(text), resolveAfter: of(text) })).toEqual([]);
});

function rule(text: string, message: string): JsonSchema {
  return { ...object({}), "x-kubernetes-validations": [{ rule: text, message }] };
}
