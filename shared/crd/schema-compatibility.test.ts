import { expect, test } from "vitest";
import { findSchemaBreaks, type SchemaNode } from "./schema-compatibility.ts";

const breaks = (direction: "request" | "response", before: SchemaNode, after: SchemaNode) =>
  findSchemaBreaks({ before, after, direction, where: "x" });

const object = (properties: Record<string, SchemaNode>, required: string[] = []): SchemaNode => ({
  type: "object",
  properties,
  required,
});
const text: SchemaNode = { type: "string" };
const integer: SchemaNode = { type: "integer" };

test.each<[string, SchemaNode, SchemaNode]>([
  ["a removed field", object({ a: text }), object({})],
  ["a field of another type", object({ a: text }), object({ a: integer })],
  [
    "a removed field in a list",
    { type: "array", items: object({ a: text }) },
    { type: "array", items: object({}) },
  ],
  ["a removed enum value", { type: "string", enum: ["a", "b"] }, { type: "string", enum: ["a"] }],
])("in requests and responses: %s is a break", (_, before, after) => {
  expect(breaks("request", before, after)).not.toEqual([]);
  expect(breaks("response", before, after)).not.toEqual([]);
});

test.each<[string, SchemaNode, SchemaNode]>([
  ["a field that is required now", object({ a: text }), object({ a: text }, ["a"])],
  ["a new required field", object({}), object({ a: text }, ["a"])],
  ["an enum where there was any text", text, { type: "string", enum: ["a"] }],
  ["a lower maximum", { ...integer, maximum: 10 }, { ...integer, maximum: 9 }],
  ["a maximum where there was none", integer, { ...integer, maximum: 9 }],
  ["a higher minimum", { ...integer, minimum: 0 }, { ...integer, minimum: 1 }],
  ["a higher minLength", text, { ...text, minLength: 1 }],
  ["a shorter list", { type: "array", maxItems: 3 }, { type: "array", maxItems: 2 }],
  ["another pattern", { ...text, pattern: "a" }, { ...text, pattern: "b" }],
  ["a format", text, { ...text, format: "email" }],
  [
    "a default of a field that could be left out",
    object({ a: integer }),
    object({ a: { ...integer, default: 1 } }),
  ],
  ["another default", { ...integer, default: 1 }, { ...integer, default: 2 }],
  ["unknown fields rejected", object({}), { ...object({}), additionalProperties: false }],
  ["null rejected", { type: ["string", "null"] }, text],
  ["null rejected, as definitions write it", { ...text, nullable: true }, text],
  ["integers where there were numbers", { type: "number" }, integer],
  ["a removed alternative", { anyOf: [text, integer] }, { anyOf: [text] }],
  ["a new rule", object({}), { ...object({}), "x-kubernetes-validations": [{ rule: "self.a" }] }],
])("in requests: %s is a break", (_, before, after) => {
  expect(breaks("request", before, after)).not.toEqual([]);
});

test.each<[string, SchemaNode, SchemaNode]>([
  ["a field that may be absent now", object({ a: text }, ["a"]), object({ a: text })],
  ["null where there was none", text, { type: ["string", "null"] }],
  ["fractions where there were whole numbers", integer, { type: "number" }],
  ["any value where there was an enum", { type: "string", enum: ["a"] }, text],
  ["a removed alternative", { anyOf: [text, integer] }, { anyOf: [text] }],
])("in responses: %s is a break", (_, before, after) => {
  expect(breaks("response", before, after)).not.toEqual([]);
});

test.each<[string, SchemaNode, SchemaNode]>([
  ["a new optional field", object({}), object({ a: text })],
  ["a field that is optional now", object({ a: text }, ["a"]), object({ a: text })],
  [
    "a default of a field that was required",
    object({ a: integer }, ["a"]),
    object({ a: { ...integer, default: 1 } }),
  ],
  ["a wider enum", { type: "string", enum: ["a"] }, { type: "string", enum: ["a", "b"] }],
  ["a wider bound", { ...integer, maximum: 9 }, { ...integer, maximum: 10 }],
  ["a better message of a rule", rule("self.a", "bad"), rule("self.a", "must have a")],
  ["a removed rule", rule("self.a", ""), object({})],
])("in requests: %s is not a break", (_, before, after) => {
  expect(breaks("request", before, after)).toEqual([]);
});

test.each<[string, SchemaNode, SchemaNode]>([
  ["a new field", object({}), object({ a: text }, ["a"])],
  ["a wider enum", { type: "string", enum: ["a"] }, { type: "string", enum: ["a", "b"] }],
  ["a new alternative", { anyOf: [text] }, { anyOf: [text, integer] }],
  ["null removed", { type: ["string", "null"] }, text],
])("in responses: %s is not a break", (_, before, after) => {
  expect(breaks("response", before, after)).toEqual([]);
});

function rule(text: string, message: string): SchemaNode {
  return { ...object({}), "x-kubernetes-validations": [{ rule: text, message }] };
}
