import { expect, test } from "vitest";
import { BYTES_PER_GIB } from "../../shared/crd/storage-inventory.ts";
import { isBelowUsage } from "./changes.ts";

test.each([
  {
    what: "lowered below what is stored",
    formerGB: 5,
    limitGB: 2,
    used: 2 * BYTES_PER_GIB + 1,
    refused: true,
  },
  { what: "lowered to what is stored", formerGB: 5, limitGB: 2, used: 2 * BYTES_PER_GIB, refused: false },
  { what: "lowered without a figure", formerGB: 5, limitGB: 2, used: null, refused: false },
  { what: "raised, though more is stored", formerGB: 2, limitGB: 3, used: 9 * BYTES_PER_GIB, refused: false },
  { what: "kept, though more is stored", formerGB: 2, limitGB: 2, used: 9 * BYTES_PER_GIB, refused: false },
])("a limit that is $what", ({ formerGB, limitGB, used, refused }) => {
  expect(isBelowUsage({ formerGB, limitGB, usedBytes: used })).toBe(refused);
});
