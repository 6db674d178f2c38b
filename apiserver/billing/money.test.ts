import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  centsToEuros,
  divideHalfUp,
  formatCents,
  formatMicroEuros,
  formatPrice,
  formatQuantity,
  parseMicroEuros,
  priceInCents,
  toEuros,
  toJsonCents,
  toMicroEuros,
  toPositiveMicroEuros,
} from "./money.ts";
import { monthOf, parseMonth } from "./month.ts";

test.each([
  [0, 0n],
  [-0, 0n],
  [4, 4_000_000n],
  [0.08, 80_000n],
  [2.5, 2_500_000n],
  [0.000001, 1n],
  [5e-324, 0n],
  [1e-7, 0n],
  [4.999_999e-7, 0n],
  [5e-7, 1n],
  [0.0000015, 2n],
  [1.0000005, 1_000_001n],
  [1.0000004, 1_000_000n],
  [0.9999999, 1_000_000n],
  [0.1 + 0.2, 300_000n],
  [1.1 * 3, 3_300_000n],
  [100 / 3, 33_333_333n],
  [999_999_999_999_999.9, 999_999_999_999_999_900_000n],
  [1e15, 10n ** 21n],
  [1_031_012_899_251_211.1, 1_031_012_899_251_211_125_000n],
  [4_503_599_627_370_495.5, 4_503_599_627_370_495_500_000n],
  [1e21, 10n ** 27n],
  [1e23, 99_999_999_999_999_991_611_392n * 1_000_000n],
  [1e308, BigInt(1e308) * 1_000_000n],
  [Number.MAX_VALUE, BigInt(Number.MAX_VALUE) * 1_000_000n],
])("the double %d is %s millionths", (euros, expected) => {
  expect(toMicroEuros(euros)).toBe(expected);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1.25, -1e-9])("%d is no amount", (euros) => {
  expect(() => toMicroEuros(euros)).toThrow(RangeError);
});

test.each([
  [5e-324, 1n],
  [4.9e-7, 1n],
  [0.000001, 1n],
  [0.0000015, 2n],
  [1e308, BigInt(1e308) * 1_000_000n],
])("of amounts above 0, %d is %s millionths", (euros, expected) => {
  expect(toPositiveMicroEuros(euros)).toBe(expected);
});

test.each([
  [0n, 0],
  [-5n, -5],
  [2n ** 53n - 1n, Number.MAX_SAFE_INTEGER],
  [2n ** 53n, Number.MAX_SAFE_INTEGER],
  [-(10n ** 330n), -Number.MAX_SAFE_INTEGER],
])("%d cents are the integer %d in JSON", (cents, expected) => {
  expect(toJsonCents(cents)).toBe(expected);
  expect(centsToEuros(cents)).toBe(expected / 100);
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

test.each([
  [5_000_000n, 2_678_400n, 1n, "1.000000000000", "5.000000000000000000"],
  [5_000_000n, 1n, 1n, "0.000000373357", "0.000001866785000000"],
  [1n, -86_400n, 1n, "-0.032258064516", "-0.000000032258064516"],
  [5_000_000n, 2_678_400n << 30n, 1n << 30n, "1.000000000000", "5.000000000000000000"],
  [0n, 7n, 1n, "0.000002613501", "0.000000000000000000"],
])(
  "at %d millionths a month, %d seconds of units of %d are %s units and months, which cost %s",
  (priceMicroEuros, unitSeconds, unitSize, quantity, price) => {
    expect(formatQuantity({ priceMicroEuros, unitSeconds, unitSize }, 2_678_400)).toEqual({
      quantity,
      price,
    });
  },
);

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

  test("what is answered for any double is kept and answered again when it is sent back", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (sent) => {
        const answered = toEuros(toMicroEuros(sent));
        expect(Math.abs(answered - sent)).toBeLessThanOrEqual(Math.max(0.000_000_6, sent * Number.EPSILON));
        expect(toEuros(toMicroEuros(answered))).toBe(answered);
      }),
      { numRuns: 2000 },
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
