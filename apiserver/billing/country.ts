import { whereAlpha2 } from "iso-3166-1";

/** Codes that the European Union or people use in the place of the country's own. */
const OWN_CODES: Readonly<Record<string, string>> = { EL: "GR", UK: "GB" };

/**
 * Why a text is no country's code, in words that follow the field's name; undefined for a member of ISO 3166-1 alpha-2.
 */
export function findCountryFault(code: string): string | undefined {
  if (!/^[A-Z]{2}$/.test(code)) return "must be a country as two capitals, as DE (ISO 3166-1)";
  if (whereAlpha2(code) !== undefined) return undefined;
  const own = Object.hasOwn(OWN_CODES, code) ? OWN_CODES[code] : undefined;
  if (own !== undefined) return `must be ${own}, the code of ISO 3166-1 for ${nameOfCountry(own)}`;
  return "must be the code of a country in ISO 3166-1, as DE";
}

/** Whether the text is a member of ISO 3166-1 alpha-2. */
export function isCountry(code: string): boolean {
  return findCountryFault(code) === undefined;
}

const names = new Intl.DisplayNames("en", { type: "region", fallback: "code" });

/** The English name of a country. */
export function nameOfCountry(code: string): string {
  return names.of(code) ?? code;
}
