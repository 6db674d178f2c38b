import { describe, expect, test } from "vitest";
import { emailSchema, NAME_PATTERN, nameField, toTimestamp } from "./fields.ts";

const name = nameField(63, "A name.");
const codesOf = (text: string) => name.safeParse(text).error?.issues.map(({ message }) => message) ?? [];
const FORM = "must be one line that is not blank, without control characters and marks of text direction";

describe("a name", () => {
  test.each([
    "a",
    "Größe 3",
    "日本",
    "\u{1f680}".repeat(63),
    "a b",
    "\u200da",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d💻",
  ])("%j is taken", (text) => {
    expect(codesOf(text)).toEqual([]);
    expect(text).toMatch(new RegExp(NAME_PATTERN, "u"));
  });

  test.each([" ", "\u00a0\u3000", "\u200b", "a\nb", "a\u0000", "\u0085x", "a\u2028b", "a\u2029", "\u007f"])(
    "%j is refused: blank, or with a control character or a line separator",
    (text) => {
      expect(codesOf(text)).toEqual([FORM]);
    },
  );

  test.each("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069".split(""))(
    "a mark of text direction is refused: %j",
    (mark) => {
      for (const text of [`a${mark}`, `${mark}ab`, `a${mark}b`]) {
        expect(codesOf(text)).toEqual([FORM]);
      }
    },
  );

  test.each([
    ["", ["must have from 1 to 63 characters", FORM]],
    ["\u{1f680}".repeat(64), ["must have from 1 to 63 characters"]],
  ])("its length counts characters as JSON Schema does: %j", (text, faults) => {
    expect(codesOf(text)).toEqual(faults);
  });

  test("the pattern for clients takes every name that is taken", () => {
    const pattern = NAME_PATTERN;
    for (const text of ["a", "Größe 3", "日本", "a b"]) expect(text).toMatch(new RegExp(pattern, "u"));
    for (const text of [" ", "a\nb", "a\u2028b", ""]) expect(text).not.toMatch(new RegExp(pattern, "u"));
  });
});

test.each<[string, string | undefined, string | null]>([
  ["none", undefined, null],
  ["whole seconds", "2026-11-21T09:00:00Z", "2026-11-21T09:00:00.000Z"],
  ["microseconds", "2026-11-21T09:00:00.123456Z", "2026-11-21T09:00:00.123Z"],
  ["another zone", "2026-11-21T10:00:00+01:00", "2026-11-21T09:00:00.000Z"],
])("a time with %s", (_case, time, written) => {
  expect(toTimestamp(time)).toBe(written);
});

test.each([
  ["r&d@example.com", true],
  ["o'neil+x@mail.example.co.uk", true],
  ["a@b.xn--p1ai", true],
  ["Ann@Example.COM", true],
  ["nobody", false],
  ["a@localhost", false],
  ["a@b..com", false],
  [".a@example.com", false],
  ["a b@example.com", false],
  ["a@192.0.2.1", false],
  ["ä@example.com", false],
])("%s is an e-mail address: %s", (email, isOne) => {
  expect(emailSchema.safeParse(email).success).toBe(isOne);
});
