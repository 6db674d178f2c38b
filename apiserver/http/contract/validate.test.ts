import { z } from "@hono/zod-openapi";
import { describe, expect, test } from "vitest";
import { wholeNumber } from "../../../shared/crd/fields.ts";
import { formatPath, idSchema, invalidRequest, lowerCaseIds, parseInput, toDetails } from "./validate.ts";

const schema = z.strictObject({
  name: z.string().min(1).max(5),
  vcpus: z.int().min(1).max(128),
  effect: z.enum(["NoSchedule", "NoExecute"]),
  authorized_cidrs: z
    .array(z.union([z.cidrv4(), z.cidrv6()]))
    .max(2)
    .optional(),
  node_pools: z
    .array(z.strictObject({ vcpus: z.int().max(4) }))
    .min(1)
    .optional(),
  labels: z.record(z.string(), z.string()).optional(),
  range: z
    .strictObject({ min: z.int(), max: z.int() })
    .refine((range) => range.min <= range.max, { path: ["min"], params: { code: "min_gt_max" } })
    .optional(),
});

const CODES = Array.from({ length: 20 }, (_, n) => `code${n}`);
const valid = { name: "a", vcpus: 1, effect: "NoSchedule" };

function detailsOf(input: unknown): string[] {
  const parsed = schema.safeParse(input);
  if (parsed.success) return [];
  return toDetails(parsed.error.issues, input).map(({ field, code }) => `${field}/${code}`);
}

describe("a fault in a body becomes a detail", () => {
  test.each<[string, unknown, string[]]>([
    ["nothing wrong", valid, []],
    ["a missing field", { vcpus: 1, effect: "NoSchedule" }, ["name/required"]],
    ["a missing enum", { name: "a", vcpus: 1 }, ["effect/required"]],
    ["a field that is null", { ...valid, name: null }, ["name/invalid_type"]],
    ["a wrong type", { ...valid, vcpus: "1" }, ["vcpus/invalid_type"]],
    ["a fraction", { ...valid, vcpus: 1.5 }, ["vcpus/invalid_type"]],
    ["a number below its bound", { ...valid, vcpus: 0 }, ["vcpus/out_of_range"]],
    ["a number above its bound", { ...valid, vcpus: 129 }, ["vcpus/out_of_range"]],
    ["a number beyond all integers", { ...valid, vcpus: 1e300 }, ["vcpus/out_of_range"]],
    ["a text that is too long", { ...valid, name: "abcdef" }, ["name/too_long"]],
    ["a text that is too short", { ...valid, name: "" }, ["name/too_short"]],
    ["a value outside of an enum", { ...valid, effect: "No" }, ["effect/invalid_enum"]],
    ["an unknown field", { ...valid, plan: "dev", x: 1 }, ["plan/unknown_field", "x/unknown_field"]],
    [
      "an unknown field inside",
      { ...valid, node_pools: [{ vcpus: 1, x: 1 }] },
      ["node_pools[0].x/unknown_field"],
    ],
    ["a fault inside a list", { ...valid, node_pools: [{ vcpus: 5 }] }, ["node_pools[0].vcpus/out_of_range"]],
    ["a list that is too short", { ...valid, node_pools: [] }, ["node_pools/too_short"]],
    [
      "a list that is too long",
      { ...valid, authorized_cidrs: ["::/0", "::/0", "::/0"] },
      ["authorized_cidrs/too_many"],
    ],
    [
      "a bare address",
      { ...valid, authorized_cidrs: ["10.0.0.0/8", "10.0.0.1"] },
      ["authorized_cidrs/invalid_cidr"],
    ],
    ["a wrong type in a named list", { ...valid, authorized_cidrs: [5] }, ["authorized_cidrs/invalid_type"]],
    ["a wrong value in a map", { ...valid, labels: { a: 1 } }, ["labels.a/invalid_type"]],
    ["a rule with its own code", { ...valid, range: { min: 2, max: 1 } }, ["range.min/min_gt_max"]],
    ["a list instead of an object", [], ["body/invalid_type"]],
    ["null instead of an object", null, ["body/invalid_type"]],
    [
      "a prototype key",
      JSON.parse('{"__proto__":{},"name":"a","vcpus":1,"effect":"NoSchedule"}'),
      ["__proto__/unknown_field"],
    ],
  ])("%s", (_case, input, expected) => {
    expect(detailsOf(input)).toEqual(expected);
  });
});

test("of thousands of faults the first hundred are described", () => {
  const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n]));
  const details = detailsOf({ ...valid, labels });
  expect([details.length, details.at(-1)]).toEqual([100, "labels.k99/invalid_type"]);
});

test("of thousands of unknown fields the first hundred are looked at and described", () => {
  let looks = 0;
  const names = Array.from({ length: 3000 }, (_, n) => `nam${n}`);
  const keys = new Proxy(names, {
    get(target, property) {
      if (/^\d+$/.test(String(property))) looks += 1;
      return Reflect.get(target, property);
    },
  });
  const { error } = parseInput(schema, { ...valid, x: 1 });
  const [unknown] = error?.issues ?? [];
  const details = toDetails([{ ...unknown, keys } as never], {});
  expect(details.map(({ field }) => field)).toEqual(names.slice(0, 100));
  expect(details[0].message).toContain("did you mean `name`?");
  expect(looks).toBeLessThanOrEqual(101);
});

test.each<[unknown, string]>([
  [{ ...valid, name: 1 }, "must be a string"],
  [{ ...valid, name: "" }, "must not be empty"],
  [{ ...valid, name: "abcdef" }, "must have at most 5 characters"],
  [{ ...valid, vcpus: "1" }, "must be a number"],
  [{ ...valid, vcpus: 129 }, "must be at most 128"],
  [{ ...valid, effect: "No" }, "must be one of NoSchedule, NoExecute"],
  [{ ...valid, x: 1 }, "is not a field of this operation; leave it out"],
  [{ ...valid, node_pool: [] }, "is not a field of this operation; did you mean `node_pools`?"],
  [
    { ...valid, node_pools: [{ vcpus: 1, cpu: 1 }] },
    "is not a field of this operation; did you mean `vcpus`?",
  ],
  [{ ...valid, code: "code_1" }, "must be one of 20 values in the API reference, as code1, code0, code2"],
  [
    { ...valid, code: 1 },
    `must be one of 20 values in the API reference, as ${CODES.slice(0, 12).join(", ")}`,
  ],
  [{ ...valid, node_pools: {} }, "must be a list"],
  [{ ...valid, node_pools: [] }, "must not be empty"],
  [{ ...valid, node_pools: [{ vcpus: 4 }, 1] }, "must be an object"],
  [{ ...valid, amount: 0 }, "must be a whole number from 1 to 128"],
  [{ ...valid, amount: 2 ** 60 }, "must be a whole number from 1 to 128"],
  [{ ...valid, amount: 1.5 }, "must be a whole number from 1 to 128"],
])("the message of %j says what to do: %s", (input, message) => {
  const parsed = parseInput(
    schema.extend({ amount: wholeNumber(1, 128).optional(), code: z.enum(CODES).optional() }),
    input,
  );
  expect(toDetails(parsed.error?.issues ?? [], input).map((detail) => detail.message)).toEqual([message]);
});

test("an unknown parameter of a query is refused with the nearest name", () => {
  const { error } = parseInput(z.strictObject({ limit: z.string().optional() }), { limits: "5" });
  expect(invalidRequest("query", error?.issues ?? [], { limits: "5" }).message).toBe(
    "The query parameter limits is not a field of this operation; did you mean `limit`?",
  );
});

test.each<[PropertyKey[], string]>([
  [[], "body"],
  [["name"], "name"],
  [["node_pools", 0, "vcpus"], "node_pools[0].vcpus"],
  [["authorized_cidrs", 3], "authorized_cidrs"],
])("the path %j is written as %s", (path, text) => {
  expect(formatPath(path)).toBe(text);
});

test.each([
  ["0193A1F2-7C3E-7D44-8A0B-5F1F0C9D2E11", "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11"],
  [
    "/v1/0193A1F2-7C3E-7D44-8A0B-5F1F0C9D2E11/Nodes/0193A1F2-7C3E-7D44-8A0B-5F1F0C9D2E12",
    "/v1/0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11/Nodes/0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  ],
  ["A-0193A1F2-7C3E-7D44-8A0B-5F1F0C9D2E11", "A-0193A1F2-7C3E-7D44-8A0B-5F1F0C9D2E11"],
  ["Text", "Text"],
])("the ids in %s become lower-case, and nothing else", (text, expected) => {
  expect(lowerCaseIds(text)).toBe(expected);
});

test("ids are accepted in any version and case, and become lower-case", () => {
  expect(idSchema.parse("11111111-1111-1111-1111-11111111ABCD")).toBe("11111111-1111-1111-1111-11111111abcd");
  expect(idSchema.safeParse("11111111").success).toBe(false);
});
