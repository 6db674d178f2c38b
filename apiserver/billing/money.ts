/** Decimals of a unit price that are kept. */
export const PRICE_DECIMALS = 6;

const MICRO_EUROS_PER_EURO = 10n ** BigInt(PRICE_DECIMALS);
const MICRO_EUROS_PER_CENT = MICRO_EUROS_PER_EURO / 100n;

/**
 * A price as JSON carries it, in millionths of a euro: the shortest decimal that gives the double is what was meant.
 * undefined for what is no finite number or has more than 6 decimals.
 */
export function toMicroEuros(euros: number): bigint | undefined {
  const text = String(euros);
  return /^-?\d+(\.\d{1,6})?$/.test(text) ? parseMicroEuros(text) : undefined;
}

/** A decimal number with at most 6 decimals, in millionths of a euro. Throws a RangeError for any other text. */
export function parseMicroEuros(decimal: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(decimal);
  if (match === null) throw new RangeError(`${decimal} is no decimal number with at most 6 decimals`);
  const [, sign, whole = "", fraction = ""] = match;
  const amount = BigInt(whole) * MICRO_EUROS_PER_EURO + BigInt(fraction.padEnd(PRICE_DECIMALS, "0"));
  return sign === "-" ? -amount : amount;
}

/** The exact decimal of an amount in millionths of a euro, with all 6 decimals. */
export function formatMicroEuros(microEuros: bigint): string {
  const [sign, amount] = microEuros < 0n ? ["-", -microEuros] : ["", microEuros];
  const fraction = String(amount % MICRO_EUROS_PER_EURO).padStart(PRICE_DECIMALS, "0");
  return `${sign}${amount / MICRO_EUROS_PER_EURO}.${fraction}`;
}

/** The double nearest to an amount: for the JSON of a response alone, never to calculate with. */
export function toEuros(microEuros: bigint): number {
  return Number(formatMicroEuros(microEuros));
}

/** A use of one resource at one unit price within one month. */
export interface PricedUse {
  /** The price of one unit for the whole month, in millionths of a euro. */
  priceMicroEuros: bigint;
  /** Quantity times seconds. */
  unitSeconds: bigint;
}

/**
 * The price of uses in one month of `monthSeconds` seconds, in whole cents. Exact until it is rounded once, half away
 * from zero: an invoice has one such rounding per line.
 */
export function priceInCents(uses: readonly PricedUse[], monthSeconds: number): bigint {
  if (!(monthSeconds > 0)) throw new RangeError(`a month of ${monthSeconds} seconds`);
  const sum = uses.reduce((total, use) => total + use.priceMicroEuros * use.unitSeconds, 0n);
  return divideHalfUp(sum, BigInt(monthSeconds) * MICRO_EUROS_PER_CENT);
}

/** The quotient, rounded to the nearest integer, a half away from zero. `divisor` is positive. */
export function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  const amount = dividend < 0n ? -dividend : dividend;
  const rounded = (2n * amount + divisor) / (2n * divisor);
  return dividend < 0n ? -rounded : rounded;
}
