/** Decimals of a unit price that are kept. */
export const PRICE_DECIMALS = 6;

const MICRO_EUROS_PER_EURO = 10n ** BigInt(PRICE_DECIMALS);
export const MICRO_EUROS_PER_CENT = MICRO_EUROS_PER_EURO / 100n;

/** From here on a double has more than 15 digits before the point, and only eighths behind it. */
const FIRST_LARGE_EUROS = 1e15;
/** Below it JavaScript writes a number with an exponent. */
const ONE_MICRO_EURO = 1e-6;

/**
 * An amount of at least 0 as JSON carries it, in millionths of a euro: the shortest decimal that gives the double is
 * what was meant, rounded half up to 6 decimals; of one with more than 15 digits before the point, its exact decimal
 * expansion. Throws a RangeError for what is negative or not finite.
 */
export function toMicroEuros(euros: number): bigint {
  if (!Number.isFinite(euros) || euros < 0) throw new RangeError(`${euros} is no amount of money`);
  if (euros >= FIRST_LARGE_EUROS) {
    const whole = Math.trunc(euros);
    return BigInt(whole) * MICRO_EUROS_PER_EURO + BigInt((euros - whole) * Number(MICRO_EUROS_PER_EURO));
  }
  if (euros < ONE_MICRO_EURO) return euros >= ONE_MICRO_EURO / 2 ? 1n : 0n;
  const [whole = "", fraction = ""] = String(euros).split(".");
  const kept = parseMicroEuros(`${whole}.${fraction.slice(0, PRICE_DECIMALS).padEnd(1, "0")}`);
  return (fraction[PRICE_DECIMALS] ?? "0") >= "5" ? kept + 1n : kept;
}

/** Rounds an amount above 0: what would be rounded to 0 is the smallest amount. */
export function toPositiveMicroEuros(euros: number): bigint {
  return toMicroEuros(euros) || 1n;
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
  return formatDecimal(microEuros, PRICE_DECIMALS);
}

/** The decimal of an amount in cents, with both decimals. */
export function formatCents(cents: bigint): string {
  return formatDecimal(cents, 2);
}

function formatDecimal(scaled: bigint, decimals: number): string {
  const [sign, amount] = scaled < 0n ? ["-", -scaled] : ["", scaled];
  const digits = String(amount).padStart(decimals + 1, "0");
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** The double nearest to an amount: for the JSON of a response alone, never to calculate with. */
export function toEuros(microEuros: bigint): number {
  return Number(formatMicroEuros(microEuros));
}

/** The double nearest to an amount of cents, in EUR: for the JSON of a response alone; bounded as `toJsonCents`. */
export function centsToEuros(cents: bigint): number {
  return Number(formatCents(toJsonRange(cents)));
}

/**
 * An amount of cents as the integer of a response. What no client could read exactly, beyond 2^53 - 1 on either side,
 * is that bound; the amount itself is never rounded, and the CSV of an invoice has it.
 */
export function toJsonCents(cents: bigint): number {
  return Number(toJsonRange(cents));
}

function toJsonRange(cents: bigint): bigint {
  const bound = BigInt(Number.MAX_SAFE_INTEGER);
  if (cents > bound) return bound;
  return cents < -bound ? -bound : cents;
}

/** A use of one resource at one unit price within one month. */
export interface PricedUse {
  /** The price of one unit for the whole month, in millionths of a euro. */
  priceMicroEuros: bigint;
  /** Quantity times seconds. */
  unitSeconds: bigint;
  /** How much of the quantity the price is for: 1, or 2^30 where bytes are priced by the GiB. */
  unitSize: bigint;
}

/**
 * The price of a use in one month of `monthSeconds` seconds, in whole cents. Exact until it is rounded once, half away
 * from zero: an invoice has one such rounding per line.
 */
export function priceInCents(use: PricedUse, monthSeconds: number): bigint {
  return divideUse(use, monthSeconds, MICRO_EUROS_PER_CENT);
}

/** Decimals of the amount of a use that is not rounded to cents. */
const AMOUNT_DECIMALS = 12;
const PER_MICRO_EURO = 10n ** BigInt(AMOUNT_DECIMALS - PRICE_DECIMALS);

/** The price of a use in EUR as a decimal, rounded to 12 decimals: to show shares of a line, never to add up. */
export function formatPrice(use: PricedUse, monthSeconds: number): string {
  const scaled = { ...use, priceMicroEuros: use.priceMicroEuros * PER_MICRO_EURO };
  return formatDecimal(divideUse(scaled, monthSeconds, 1n), AMOUNT_DECIMALS);
}

/**
 * A use as a decimal of units and whole months, rounded to 12 decimals, and the price of exactly that quantity in EUR,
 * which has 18 and is not rounded again.
 */
export function formatQuantity(use: PricedUse, monthSeconds: number): { quantity: string; price: string } {
  const scaled = divideUse({ ...use, priceMicroEuros: 10n ** BigInt(AMOUNT_DECIMALS) }, monthSeconds, 1n);
  return {
    quantity: formatDecimal(scaled, AMOUNT_DECIMALS),
    price: formatDecimal(scaled * use.priceMicroEuros, AMOUNT_DECIMALS + PRICE_DECIMALS),
  };
}

function divideUse(use: PricedUse, monthSeconds: number, divisor: bigint): bigint {
  if (!(monthSeconds > 0)) throw new RangeError(`a month of ${monthSeconds} seconds`);
  return divideHalfUp(use.priceMicroEuros * use.unitSeconds, BigInt(monthSeconds) * use.unitSize * divisor);
}

/** The quotient, rounded to the nearest integer, a half away from zero. `divisor` is positive. */
export function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  const amount = dividend < 0n ? -dividend : dividend;
  const rounded = (2n * amount + divisor) / (2n * divisor);
  return dividend < 0n ? -rounded : rounded;
}
