import { describe, expect, test } from "vitest";
import { pageQuery, toPage } from "./page.ts";

const id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;
const rows = (count: number) => Array.from({ length: count }, (_, index) => ({ id: id(index) }));

describe("a page of rows", () => {
  test.each([
    ["nothing", 0, 2, 0, null],
    ["less than a page", 1, 2, 1, null],
    ["exactly a page", 2, 2, 2, null],
    ["more than a page", 3, 2, 2, id(1)],
  ])("%s", (_case, read, limit, shown, cursor) => {
    const page = toPage(rows(read), limit, (row) => row.id);
    expect(page.items).toHaveLength(shown);
    expect(page.next_cursor).toBe(cursor);
  });
});

describe("the query of a list", () => {
  test.each<[Record<string, unknown>, number]>([
    [{}, 50],
    [{ limit: "1" }, 1],
    [{ limit: "100" }, 100],
  ])("%j has the limit %i", (query, limit) => {
    expect(pageQuery.parse(query).limit).toBe(limit);
  });

  test.each<[Record<string, unknown>]>([
    [{ limit: "0" }],
    [{ limit: "101" }],
    [{ limit: "" }],
    [{ limit: "1e1" }],
    [{ limit: "-1" }],
    [{ limit: " 1" }],
    [{ limit: ["1", "2"] }],
    [{ cursor: "abc" }],
    [{ cursor: "" }],
    [{ page: "2" }],
  ])("%j is refused", (query) => {
    expect(pageQuery.safeParse(query).success).toBe(false);
  });
});
