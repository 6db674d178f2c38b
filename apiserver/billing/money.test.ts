import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  divideHalfUp,
  formatCents,
  formatMicroEuros,
  formatPrice,
  parseMicroEuros,
  priceInCents,
  toEuros,
  toMicroEuros,
} from "./money.ts";
import { monthOf, parseMonth } from "./month.ts";

test.each([
  [0, 0n],
  [-0, 0n],
  [4, 4_000_000n],
  [0.08, 80_000n],
  [2.5, 2_500_000n],
  [0.000001, 1n],
  [1e-7, undefined],
  [0.1 + 0.2, undefined],
  [1e308, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  [-1.25, -1_250_000n],
])("the double %d is %s millionths", (euros, expected) => {
  expect(toMicroEuros(euros)).toBe(expected);
});

test.each(["", "1.", ".5", "1.1234567", "1e3", "NaN", "1,5", " 1"])("%j is no price", (text) => {
  expect(() => parseMicroEuros(text)).toThrow(RangeError);
});

test.each([
  [4n, 10n, 0n],
  [5n, 10n, 1n],
  [15n, 10n, 2n],
  [14n, 10n, 1n],
  [-5n, 10n, -1n],
  [-4n, 10n, 0n],
  [0n, 3n, 0n],
])("%d divided by %d is rounded to %d", (dividend, divisor, expected) => {
  expect(divideHalfUp(dividend, divisor)).toBe(expected);
});

test.each([
  [0n, "0.00"],
  [5n, "0.05"],
  [-5n, "-0.05"],
  [123_456n, "1234.56"],
])("%d cents are %s", (cents, expected) => {
  expect(formatCents(cents)).toBe(expected);
});

test("the price of a second is shown to 12 decimals", () => {
  const use = { priceMicroEuros: 5_000_000n, unitSeconds: 1n, unitSize: 1n };
  expect(formatPrice(use, 2_678_400)).toBe("0.000001866786");
});

const microEuros = fc.bigInt({ min: 0n, max: 10n ** 12n });
const month = fc
  .date({ min: new Date("2000-01-01"), max: new Date("2100-12-31"), noInvalidDate: true })
  .map(monthOf);

describe("for all prices", () => {
  test("text and number of a price give it back", () => {
    fc.assert(
      fc.property(microEuros, (price) => {
        expect(parseMicroEuros(formatMicroEuros(price))).toBe(price);
        expect(parseMicroEuros(formatMicroEuros(-price))).toBe(-price);
        expect(toMicroEuros(toEuros(price))).toBe(price);
      }),
    );
  });

  test("a full month of one unit costs exactly its price, whatever the month", () => {
    const cents = fc.bigInt({ min: 0n, max: 10n ** 8n });
    fc.assert(
      fc.property(cents, month, (price, { seconds }) => {
        const use = { priceMicroEuros: price * 10_000n, unitSeconds: BigInt(seconds), unitSize: 1n };
        expect(priceInCents(use, seconds)).toBe(price);
      }),
    );
  });

  test("a GiB that is measured in bytes costs the same as one GiB", () => {
    const seconds = fc.nat({ max: 2_678_400 });
    fc.assert(
      fc.property(microEuros, month, seconds, (priceMicroEuros, { seconds: monthSeconds }, used) => {
        const whole = { priceMicroEuros, unitSeconds: BigInt(used), unitSize: 1n };
        const bytes = { priceMicroEuros, unitSeconds: BigInt(used) << 30n, unitSize: 1n << 30n };
        expect(priceInCents(bytes, monthSeconds)).toBe(priceInCents(whole, monthSeconds));
        expect(formatPrice(bytes, monthSeconds)).toBe(formatPrice(whole, monthSeconds));
      }),
    );
  });
});

test.each([
  ["2024-02", 29],
  ["2026-02", 28],
  ["2100-02", 28],
  ["2026-12", 31],
])("%s has %d days", (name, days) => {
  const found = parseMonth(name);
  expect(found?.seconds).toBe(days * 86_400);
  expect(monthOf(new Date((found?.end.getTime() ?? 0) - 1))).toEqual(found);
});

test.each(["2026-13", "2026-00", "2026-1", "26-01", "2026-01-01", ""])("%j is no month", (name) => {
  expect(parseMonth(name)).toBeUndefined();
});
