import { describe, expect, test } from "vitest";
import { hashToken, matchesHash, mintToken, parseTokenId, toTokenPrefix } from "./secret.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

describe("the secret form of an API token", () => {
  test("has 75 characters without a separator, which a scanner can find", () => {
    expect(mintToken(ID).text).toMatch(/^mar_[0-9A-Za-z]{71}$/);
  });

  test("carries the id of the token", () => {
    expect(parseTokenId(mintToken(ID).text)).toBe(ID);
  });

  test.each(["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", ID])(
    "keeps the id %s",
    (id) => {
      expect(parseTokenId(mintToken(id).text)).toBe(id);
    },
  );

  test("is another one each time, and begins with the same prefix", () => {
    const [first, second] = [mintToken(ID), mintToken(ID)];
    expect(first.text).not.toBe(second.text);
    expect(first.text.startsWith(toTokenPrefix(ID))).toBe(true);
    expect(second.text.startsWith(toTokenPrefix(ID))).toBe(true);
  });

  test("is refused when any one of its characters is another one", () => {
    const { text } = mintToken(ID);
    for (let index = 0; index < text.length; index++) {
      const other = text[index] === "x" ? "y" : "x";
      expect(parseTokenId(text.slice(0, index) + other + text.slice(index + 1))).toBeUndefined();
    }
  });

  test("is refused when two neighbours changed places", () => {
    const { text } = mintToken(ID);
    const swapped = Array.from(
      { length: text.length - 1 },
      (_, index) =>
        text.slice(0, index) + text.charAt(index + 1) + text.charAt(index) + text.slice(index + 2),
    ).filter((other) => other !== text);
    expect(swapped.map((text) => parseTokenId(text))).toEqual(swapped.map(() => undefined));
  });

  test.each(["", "mar_", "mar_abc", `mar_${"z".repeat(71)}`, "eyJhbGciOiJub25lIn0.e30."])(
    "is not %j",
    (text) => {
      expect(parseTokenId(text)).toBeUndefined();
    },
  );

  test("is known again by its hash alone, which does not hold it", () => {
    const { text, hash } = mintToken(ID);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(hash).toBe(hashToken(text));
    expect(matchesHash(text, hash)).toBe(true);
    expect(matchesHash(mintToken(ID).text, hash)).toBe(false);
    expect(matchesHash(text, "")).toBe(false);
  });
});
