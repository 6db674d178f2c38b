import { sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPreparable } from "../../db/pool.ts";
import {
  compileSelector,
  type LabelRequirement,
  labelSelectorQuery,
  parseSelector,
} from "./label-selector.ts";

const MAX = 9_223_372_036_854_775_807n;

describe("a selector reads as Kubernetes reads it", () => {
  test.each<[string, LabelRequirement[]]>([
    ["", []],
    ["  ", []],
    ["a=b", [{ key: "a", operator: "in", values: ["b"] }]],
    ["a == b", [{ key: "a", operator: "in", values: ["b"] }]],
    ["a=", [{ key: "a", operator: "in", values: [""] }]],
    ["a!=b", [{ key: "a", operator: "notin", values: ["b"] }]],
    [
      "a!=,b",
      [
        { key: "a", operator: "notin", values: [""] },
        { key: "b", operator: "exists" },
      ],
    ],
    ["example.com/a", [{ key: "example.com/a", operator: "exists" }]],
    ["! a", [{ key: "a", operator: "absent" }]],
    ["a in (b, c)", [{ key: "a", operator: "in", values: ["b", "c"] }]],
    ["a notin(b)", [{ key: "a", operator: "notin", values: ["b"] }]],
    ["a in ()", [{ key: "a", operator: "in", values: [""] }]],
    ["a in (,b)", [{ key: "a", operator: "in", values: ["", "b"] }]],
    ["a in (b,)", [{ key: "a", operator: "in", values: ["b", ""] }]],
    ["a in (b,c,b,,)", [{ key: "a", operator: "in", values: ["b", "c", ""] }]],
    ["in in (in,notin)", [{ key: "in", operator: "in", values: ["in", "notin"] }]],
    [
      "a>1,b<2",
      [
        { key: "a", operator: ">", bound: 1n },
        { key: "b", operator: "<", bound: 2n },
      ],
    ],
    [`a<${MAX}`, [{ key: "a", operator: "<", bound: MAX }]],
  ])("%j", (text, requirements) => {
    expect(parseSelector(text)).toEqual(requirements);
  });

  test.each([
    ["a,", "must have a key instead of the end"],
    [",a", 'must have a key instead of ","'],
    ["a=b c", 'must have "," or the end instead of "c"'],
    ["!a=b", 'must have "," or the end instead of "="'],
    ["a b", 'must have =, ==, !=, in, notin, > or < instead of "b"'],
    ["a===b", 'must have a value instead of "="'],
    ["a in b", 'must have "(" instead of "b"'],
    ["a in (b", 'must have "," or ")" instead of the end'],
    ["a in (b c)", 'must have "," or ")" instead of "c"'],
    ["a in (", 'must have a value, "," or ")" instead of the end'],
    ["a>x", 'must have an integer after > instead of "x"'],
    [`a>${MAX + 1n}`, `must have an integer after > instead of "${MAX + 1n}"`],
    ["a>", 'must have an integer after > instead of ""'],
    ["a.b/c/d", 'must have keys of labels; "a.b/c/d" is none'],
    ["-a", 'must have keys of labels; "-a" is none'],
    [`${"a".repeat(64)}`, "must have keys of labels; "],
    ["a=b_", 'must have values of labels; "b_" is none'],
    [`a=${"b".repeat(64)}`, "must have values of labels; "],
    ["a='; drop table x", "must have values of labels; "],
    ["\u0000", "must have keys of labels; "],
  ])("%j is refused, with what was found", (text, message) => {
    expect(() => parseSelector(text)).toThrow(message);
  });
});

test("a query takes 32 requirements and 4,096 characters, and no more", () => {
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`).join();
  expect(labelSelectorQuery.safeParse(keys(32)).data).toHaveLength(32);
  expect(labelSelectorQuery.safeParse(keys(33)).error?.issues[0]?.message).toBe(
    "must have at most 32 requirements",
  );
  expect(labelSelectorQuery.safeParse(`a${" ".repeat(4095)}`).success).toBe(true);
  expect(labelSelectorQuery.safeParse(`a${" ".repeat(4096)}`).success).toBe(false);
});

test("no selector takes a place of the statements that are prepared", () => {
  const { sql: text } = new PgDialect().sqlToQuery(compileSelector(sql`labels`, parseSelector("a,b=c")));
  expect(isPreparable(text)).toBe(false);
  expect(isPreparable(text.replace("/* not prepared */", ""))).toBe(true);
});

test("no text makes the parser fail otherwise than with a refusal, nor takes long", () => {
  const token = fc.constantFrom(" ", ..."a b in notin ( ) , = == != ! > < 1 é".split(" "));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(token, { maxLength: 60 }).map((tokens) => tokens.join("")),
      ),
      (text) => {
        const issues = labelSelectorQuery.safeParse(text).error?.issues ?? [];
        for (const { message } of issues) expect(message.length).toBeLessThan(300);
      },
    ),
  );
});
