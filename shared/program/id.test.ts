import { expect, test } from "vitest";
import { createId } from "./id.ts";

test("ids rise strictly, also within one millisecond", () => {
  const ids = Array.from({ length: 50_000 }, createId);
  expect(ids.filter((id, index) => id <= (ids[index - 1] ?? ""))).toEqual([]);
});

test("an id is a UUIDv7 of this moment", () => {
  const before = Date.now();
  const id = createId();
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  expect(time).toBeGreaterThanOrEqual(before - 1);
  // A burst may run ahead of the clock, by a millisecond per thousands of ids.
  expect(time).toBeLessThan(Date.now() + 1000);
});
