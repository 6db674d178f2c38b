import { expect, test } from "vitest";
import { isPlainFilename } from "./filename.ts";

test.each([
  ["nodes.png", true],
  ["Übersicht 2026 – Ø.pdf", true],
  ["日本語.txt", true],
  [".bashrc", true],
  ["a;b\"c'd.txt", true],
  ["../../etc/passwd", false],
  ["..", false],
  [".", false],
  [" ", false],
  ["a/b", false],
  ["a\\b", false],
  ["a\u0000b", false],
  ["\r\nX: y", false],
  ["a\u0085b", false],
  ["a\u2028b", false],
  ["bill\u202Efdp.exe", false],
  ["\u2067a", false],
  ["a\uFEFFb", false],
  ["a\uD800b", false],
])("%j is the name of a file alone: %s", (name, expected) => {
  expect(isPlainFilename(name)).toBe(expected);
});
