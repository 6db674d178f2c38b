import { sql } from "drizzle-orm";
import { bigint, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { compileRows } from "./rows.ts";

const things = pgTable("things", {
  id: uuid(),
  name: text(),
  size: bigint({ mode: "bigint" }),
  object: jsonb(),
  at: timestamp({ withTimezone: true }),
});

test("every kind of column becomes what Drizzle makes of it, and null stays null", () => {
  const map = compileRows([
    { path: ["id"], field: things.id },
    { path: ["size"], field: things.size },
    { path: ["object"], field: things.object },
    { path: ["at"], field: things.at },
    { path: ["count"], field: sql`count(*)`.mapWith(Number) },
  ]);
  const at = "2026-11-21 09:00:00.123+00";
  expect(map([["1", "9007199254740993", '{"a":[1]}', at, "7"], Array(5).fill(null)])).toEqual([
    {
      id: "1",
      size: 9007199254740993n,
      object: { a: [1] },
      at: new Date("2026-11-21T09:00:00.123Z"),
      count: 7,
    },
    { id: null, size: null, object: null, at: null, count: null },
  ]);
});

test.each([
  ["2026-11-21 09:00:00+00", "2026-11-21T09:00:00.000Z"],
  ["2026-11-21 09:00:00.1+00", "2026-11-21T09:00:00.100Z"],
  ["2026-11-21 09:00:00.123456+00", "2026-11-21T09:00:00.123Z"],
  ["2026-11-21 11:00:00.5+02", "2026-11-21T09:00:00.500Z"],
  ["2026-11-21 14:30:00+05:30", "2026-11-21T09:00:00.000Z"],
])("the time %s is %s", (written, expected) => {
  const map = compileRows([{ path: ["at"], field: things.at }]);
  expect(map([[written]])).toEqual([{ at: new Date(expected) }]);
});

test("a selection in groups becomes rows in groups", () => {
  const map = compileRows([
    { path: ["thing", "id"], field: things.id },
    { path: ["thing", "name"], field: things.name },
    { path: ["extra"], field: sql`1`.as("extra") },
  ]);
  expect(map([["1", "x", 2]])).toEqual([{ thing: { id: "1", name: "x" }, extra: 2 }]);
  expect(() => compileRows([{ path: ["a", "b", "c"], field: things.id }])).toThrow(/too deep/);
});
