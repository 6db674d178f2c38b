import { expect, test } from "vitest";
import { EVENT_TYPES, SENT_EVENT_TYPES } from "../events/event-types.ts";
import { bodyExampleOf, bodySchemaOf, EVENT_CATALOG } from "./event-schema.ts";

test("the catalogue has the nine types of the specification", () => {
  expect(Object.keys(EVENT_CATALOG)).toEqual([...EVENT_TYPES]);
  expect(EVENT_TYPES).toHaveLength(9);
});

test.each(SENT_EVENT_TYPES)("the example of %s is valid, and has every field that is required", (type) => {
  const example = bodyExampleOf(type);
  expect(bodySchemaOf(type).parse(example)).toEqual(example);
  expect(bodySchemaOf(type).safeParse({ ...example, data: {} }).success).toBe(false);
});
