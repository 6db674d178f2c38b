import { expect, test } from "vitest";
import { listFields } from "./schema-fields.ts";

test("fields are named through objects, lists and maps, without those that every kind has", () => {
  const leaf = { properties: { key: {} } };
  const schema = {
    properties: {
      apiVersion: {},
      kind: {},
      metadata: leaf,
      spec: { properties: { one: leaf, list: { items: leaf }, map: { additionalProperties: leaf } } },
    },
  };
  expect(listFields(schema)).toEqual([
    "spec",
    "spec.one",
    "spec.one.key",
    "spec.list",
    "spec.list[].key",
    "spec.map",
    "spec.map.*.key",
  ]);
});
