import { describe, expect, test } from "vitest";
import { isNotModified, objectTag, requireMatch, versionTag } from "./etag.ts";

describe("If-None-Match compares the whole tag", () => {
  test.each<[string | undefined, boolean]>([
    [undefined, false],
    ['"3-100"', true],
    ['W/"3-100"', true],
    ['"1-1", "3-100"', true],
    ["*", true],
    ['"3-101"', false],
    ["3-100", false],
  ])("%s", (header, expected) => {
    expect(isNotModified(header, '"3-100"')).toBe(expected);
  });
});

describe("If-Match compares the settings part alone", () => {
  test.each([[undefined], ['"3-100"'], ['"3-99"'], ["*"], ['"2-1", "3-7"']])(
    "%s lets the write through",
    (header) => {
      expect(() => requireMatch(header, '"3-100"')).not.toThrow();
    },
  );

  test.each([['"2-100"'], ['W/"3-100"'], ['W/"3-100", "2-1"'], ['"4"'], ['""'], ["x"]])(
    "%s is 412",
    (header) => {
      expect(() => requireMatch(header, '"3-100"')).toThrow(expect.objectContaining({ status: 412 }));
    },
  );
});

test("tags are quoted", () => {
  expect(versionTag(3)).toBe('"3"');
  expect(objectTag({ generation: 3, resourceVersion: "100" })).toBe('"3-100"');
});
