import { expect, test } from "vitest";
import { toTimestamp } from "./timestamp.ts";

test.each<[string, string | undefined, string | null]>([
  ["none", undefined, null],
  ["whole seconds", "2026-11-21T09:00:00Z", "2026-11-21T09:00:00.000Z"],
  ["microseconds", "2026-11-21T09:00:00.123456Z", "2026-11-21T09:00:00.123Z"],
  ["another zone", "2026-11-21T10:00:00+01:00", "2026-11-21T09:00:00.000Z"],
])("a time with %s", (_case, time, written) => {
  expect(toTimestamp(time)).toBe(written);
});
