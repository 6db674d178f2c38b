import { describe, expect, test } from "vitest";
import { MAX_PAGE_BYTES, pageQuery, positionPageQuery, toPage, toPositionPage } from "./page.ts";

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

  test.each([
    ["of half the bytes of a page each", MAX_PAGE_BYTES / 2, 4, 2],
    ["of more bytes than a page", MAX_PAGE_BYTES + 1, 4, 1],
    ["of more bytes than a page, of which there is one", MAX_PAGE_BYTES + 1, 1, 1],
  ])("%s is shorter than its limit, and the next page follows", (_case, bytes, read, shown) => {
    const page = toPage(rows(read), 100, () => "a".repeat(bytes - 2));
    expect(page.items).toHaveLength(shown);
    expect(page.next_cursor).toBe(shown < read ? id(shown - 1) : null);
  });
});

test("rows that were cut by their bytes say that others follow", () => {
  const cut = (isFollowed: boolean) =>
    toPage(
      rows(2).map((row) => ({ ...row, isFollowed })),
      100,
      (row) => row.id,
    );
  expect([cut(true).next_cursor, cut(false).next_cursor]).toEqual([id(1), null]);
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

const page = (items: number[], limit: number, cursor?: string) =>
  toPositionPage(items, { limit, cursor }, (item) => item);

describe("a page of a list by position", () => {
  test("holds at most `limit` items, and the pages together hold every item once", () => {
    const first = page([3, 1, 2, 5, 4], 2);
    expect(first.items).toEqual([1, 2]);
    const second = page([3, 1, 2, 5, 4], 2, first.next_cursor ?? "");
    expect(second.items).toEqual([3, 4]);
    expect(page([3, 1, 2, 5, 4], 2, second.next_cursor ?? "")).toEqual({ items: [5], next_cursor: null });
  });

  test("repeats and skips nothing when items are removed between two pages", () => {
    const { next_cursor } = page([1, 2, 3, 4], 2);
    expect(page([1, 3, 4], 2, next_cursor ?? "").items).toEqual([3, 4]);
  });

  test("an empty list is one empty page", () => {
    expect(page([], 2)).toEqual({ items: [], next_cursor: null });
  });

  test("its query takes the cursors of such a list alone", () => {
    const { next_cursor } = page([1, 2], 1);
    expect(positionPageQuery.safeParse({ cursor: next_cursor }).success).toBe(true);
    const other = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
    expect(positionPageQuery.safeParse({ cursor: other }).success).toBe(false);
  });
});
