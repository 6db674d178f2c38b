import { expect, test } from "vitest";
import { readStorageFigures } from "./observed.ts";

const now = new Date("2026-11-21T09:30:00Z");
const none = { quotaBytes: null, usedBytes: null };

test.each([
  ["no status", undefined, none],
  ["a status without figures", {}, none],
  ["figures without a time", { quotaBytes: 5, usedBytes: 3 }, none],
  [
    "figures of 15 minutes ago",
    { quotaBytes: 5, usedBytes: 3, observedAt: "2026-11-21T09:15:00Z" },
    { quotaBytes: 5, usedBytes: 3 },
  ],
  ["older figures", { quotaBytes: 5, usedBytes: 3, observedAt: "2026-11-21T09:14:59Z" }, none],
  [
    "a figure without a limit",
    { usedBytes: 0, observedAt: "2026-11-21T09:29:00Z" },
    { quotaBytes: null, usedBytes: 0 },
  ],
  ["a time that is none", { usedBytes: 3, observedAt: "soon" }, none],
])("%s", (_, status, expected) => {
  expect(readStorageFigures(status, now)).toEqual(expected);
});
