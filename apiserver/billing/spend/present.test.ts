import fc from "fast-check";
import { expect, test } from "vitest";
import { limitGroups } from "./present.ts";

const aGroup = (value: string | null, cents: number) => ({
  value,
  cents: BigInt(cents),
  centsAtEnd: BigInt(cents) * 2n,
});
/** So many groups, of which each costs a cent more than the one before it, and what has no label. */
const groupsOf = (count: number) => [
  ...Array.from({ length: count }, (_, index) => aGroup(`v${String(index).padStart(4, "0")}`, index)),
  aGroup(null, 0),
];

test("1000 groups are all there", () => {
  const groups = groupsOf(999);
  expect(limitGroups(groups)).toEqual(groups);
});

test("of 1001 groups the two that cost least are the last one, which says so, and never what has no label", () => {
  const groups = groupsOf(1000);
  expect(limitGroups(groups)).toEqual([
    ...groups.slice(2),
    { value: null, cents: 1n, centsAtEnd: 2n, other_values: 2 },
  ]);
});

test("groups add up to the same to the cent, and there are at most 1000, however many values there are", () => {
  const amounts = fc.array(fc.maxSafeNat(), { minLength: 990, maxLength: 1500 });
  fc.assert(
    fc.property(amounts, (all) => {
      const groups = all.map((cents, index) => aGroup(`v${index}`, cents));
      const limited = limitGroups(groups);
      const sum = (some: readonly { cents: bigint; centsAtEnd: bigint }[]) =>
        some.reduce((total, { cents, centsAtEnd }) => total + cents * 3n + centsAtEnd, 0n);
      expect(limited.length).toBeLessThanOrEqual(1000);
      expect(sum(limited)).toBe(sum(groups));
      const hidden = limited.at(-1)?.other_values ?? 0;
      expect(limited.length + Math.max(0, hidden - 1)).toBe(groups.length);
    }),
    { numRuns: 20 },
  );
});
