import { describe, expect, test } from "vitest";
import { cursorToPosition, positionToCursor } from "./position.ts";
import { formatMessage, parseLastEventId } from "./sse.ts";

test("an event is three lines and an empty one; its data stays on one line", () => {
  expect(formatMessage({ event: "status", id: 7, data: { message: "two\nlines" } })).toBe(
    'event: status\nid: 7\ndata: {"message":"two\\nlines"}\n\n',
  );
});

test("an event that is no position to resume from carries no id", () => {
  expect(formatMessage({ event: "bye", data: {} })).toBe("event: bye\ndata: {}\n\n");
});

test.each<[string | undefined, number | undefined]>([
  ["0", 0],
  ["42", 42],
  [undefined, undefined],
  ["", undefined],
  ["-1", undefined],
  ["1e3", undefined],
  ["9".repeat(16), undefined],
])("a Last-Event-ID of %s is %s", (text, position) => {
  expect(parseLastEventId(text)).toBe(position);
});

describe("cursors of the history", () => {
  test.each([0, 1, 255, 4096, 2 ** 32, Number.MAX_SAFE_INTEGER])("position %d comes back", (position) => {
    const cursor = positionToCursor(position);
    expect(cursor).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(cursorToPosition(cursor)).toBe(position);
  });

  test.each([
    "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    "ffffffff-ffff-8fff-8f00-000000000000",
    "00000000-0000-0000-0000-000000000000",
  ])("%s is none of ours", (cursor) => {
    expect(cursorToPosition(cursor)).toBeUndefined();
  });
});
