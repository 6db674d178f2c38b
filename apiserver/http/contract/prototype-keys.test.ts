import { z } from "@hono/zod-openapi";
import { describe, expect, test } from "vitest";
import { declareOperations } from "../../openapi/render.ts";
import type { ApiError } from "../errors.ts";
import { parseBody } from "./body.ts";

const map = z.record(z.string(), z.string());
const schema = z.strictObject({
  labels: map.optional(),
  list: z.array(map).optional(),
  loose: z.looseObject({}).optional(),
  ignored: z.unknown().optional(),
});

function refusalOf(body: z.ZodType, text: string): ApiError {
  try {
    parseBody(body, text);
  } catch (error) {
    return error as ApiError;
  }
  throw new Error(`${text} was taken`);
}

const codesOf = (body: z.ZodType, text: string) =>
  refusalOf(body, text).details?.map(({ field, code }) => `${field}/${code}`);

describe("the key __proto__", () => {
  test.each([
    ["of a map", '{"labels":{"__proto__":"x","a":"b"}}', ["labels.__proto__/unknown_field"]],
    ["of a map, alone", '{"labels":{"__proto__":"x"}}', ["labels.__proto__/unknown_field"]],
    [
      "of a map, written with escapes",
      '{"labels":{"\\u005f_proto__":"x"}}',
      ["labels.__proto__/unknown_field"],
    ],
    ["of a map, with an object", '{"labels":{"__proto__":{"a":"b"}}}', ["labels.__proto__/unknown_field"]],
    ["of a map in a list", '{"list":[{},{"__proto__":"x"}]}', ["list[1].__proto__/unknown_field"]],
    ["of an object with any field", '{"loose":{"__proto__":"x"}}', ["loose.__proto__/unknown_field"]],
    ["in a field that is ignored", '{"ignored":[{"__proto__":{}}]}', ["ignored[0].__proto__/unknown_field"]],
    ["of the body, told once", '{"__proto__":{}}', ["__proto__/unknown_field"]],
    [
      "with another fault",
      '{"labels":{"__proto__":"x","a":1}}',
      ["labels.__proto__/unknown_field", "labels.a/invalid_type"],
    ],
  ])("%s is refused, not dropped", (_, text, codes) => {
    expect(codesOf(schema, text)).toEqual(codes);
  });

  const bodies = declareOperations().flatMap(({ operationId, body }) =>
    body === undefined ? [] : [[operationId, body] as const],
  );
  test.each(bodies)("is refused in the body of %s", (_, body) => {
    expect(codesOf(body, '{"__proto__":{"name":"a"}}')).toContain("__proto__/unknown_field");
  });
});

test.each(["constructor", "toString", "hasOwnProperty", "__proto", "proto"])(
  "the key %s of a map is a key as any other",
  (key) => {
    const { value } = parseBody(schema, `{"labels":{"${key}":"x"}}`);
    expect(Object.entries(value.labels ?? {})).toEqual([[key, "x"]]);
  },
);
