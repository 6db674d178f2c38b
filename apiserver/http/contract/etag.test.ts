import { describe, expect, test } from "vitest";
import { isNotModified, objectTag, requireMatch, versionTag } from "./etag.ts";
import { conditionSchema } from "./operation.ts";

const CONDITIONS = ['"3-1"', 'W/"3-1"', '""', '"a,b"', '"*"', "*", '"1-1",W/"3"', '"1-1"\t ,, "3" ,', ""];
const MALFORMED = [
  ["3-1", '"3-1', 'w/"3-1"', 'W/ "3-1"', "W/3", "W/*", '"3 1"', '"3\t1"', '"3"1"', '"é"'],
  ['"1-1" "3-1"', '"1-1", x', '"1-1"; "3-1"', "*, *", '*, "3-1"', '"3-1", *', `"3"${" ,".repeat(500)} x`],
].flat();

test("a condition is * or a list of entity tags, and nothing else", () => {
  const isAccepted = (header: string) => conditionSchema.safeParse(header).success;
  expect([...CONDITIONS, ...MALFORMED].filter(isAccepted)).toEqual(CONDITIONS);
});

describe("If-None-Match compares the whole tag", () => {
  test.each<[string | undefined, boolean]>([
    [undefined, false],
    ['"3-100"', true],
    ['W/"3-100"', true],
    ['"1-1", "3-100"', true],
    ["*", true],
    ['"3-101"', false],
    ['"1,"3-100"', false],
    ['"3-100-upgrade"', false],
    ["3-100", false],
  ])("%s", (header, expected) => {
    expect(isNotModified(header, '"3-100"')).toBe(expected);
  });
});

describe("If-Match compares the settings part alone", () => {
  test.each([[undefined], ['"3-100"'], ['"3-99"'], ['"3-99-upgrade"'], ["*"], ['"2-1", "3-7"']])(
    "%s lets the write through",
    (header) => {
      expect(() => requireMatch({ ifMatch: header }, '"3-100"')).not.toThrow();
    },
  );

  test.each([['"2-100"'], ['W/"3-100"'], ['W/"3-100", "2-1"'], ['"4"'], ['""'], ["x"]])(
    "%s is 412",
    (header) => {
      expect(() => requireMatch({ ifMatch: header }, '"3-100"')).toThrow(
        expect.objectContaining({ status: 412 }),
      );
    },
  );
});

describe("If-None-Match refuses the write of a record that exists", () => {
  test.each([["*"], ['"3-100"'], ['W/"3-100"'], ['"1-1", "3-100"'], ['"1-1-upgrade", "3-100-upgrade"']])(
    "%s is 412",
    (ifNoneMatch) => {
      const write = () => requireMatch({ ifMatch: '"3-100"', ifNoneMatch }, '"3-100"');
      expect(write).toThrow(expect.objectContaining({ status: 412 }));
    },
  );

  test.each([[undefined], ['"2-100"'], ['"4-1", "5-1"'], ['"3-1001-upgrade"']])(
    "%s lets the write through",
    (ifNoneMatch) => {
      expect(() => requireMatch({ ifNoneMatch }, '"3-100"')).not.toThrow();
    },
  );
});

test("tags are quoted", () => {
  expect(versionTag(3)).toBe('"3"');
  expect(objectTag({ generation: 3, resourceVersion: "100" })).toBe('"3-100"');
});
