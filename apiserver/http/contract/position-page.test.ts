import { describe, expect, test } from "vitest";
import { positionPageQuery, toPositionPage } from "./position-page.ts";

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
