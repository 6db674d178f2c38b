import { expect, test } from "vitest";
import { parseRetryAfter } from "./exchange.ts";

const NOW = new Date("2026-11-23T10:00:00Z");

test.each([
  ["0", 0],
  ["120", 120_000],
  [" 7 ", 7000],
  ["99999999", 99_999_999_000],
  ["Mon, 23 Nov 2026 10:02:00 GMT", 120_000],
  ["Monday, 23-Nov-26 10:02:00 GMT", 120_000],
  ["Mon Nov 23 10:02:00 2026", 120_000],
  ["Mon Dec  7 10:00:00 2026", 14 * 86_400_000],
  ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
])("%s asks for a delay of %d ms", (header, delay) => {
  expect(parseRetryAfter(header, NOW)).toBe(delay);
});

test.each([
  undefined,
  "",
  "-1",
  "1.5",
  "1e9",
  "0x10",
  "+5",
  "120s",
  "120, 60",
  "9".repeat(400),
  "soon",
  "2026-11-23T10:02:00Z",
  "Mon, 23 Nov 2026 10:02:00",
  "Mon, 23 Nov 2026 10:02:00 CET",
  "Mon, 99 Nov 2026 99:99:99 GMT",
  "Mon, 23 Xyz 2026 10:02:00 GMT",
])("%j asks for none", (header) => {
  expect(parseRetryAfter(header, NOW)).toBeUndefined();
});
