/**
 * Formats of VAT identification numbers by the prefixes of the European Union, as its VIES service accepts them; XI is
 * Northern Ireland. In capitals and without spaces.
 */
const FORMATS: Readonly<Record<string, string>> = {
  AT: "U\\d{8}",
  BE: "[01]\\d{9}",
  BG: "\\d{9,10}",
  CY: "\\d{8}[A-Z]",
  CZ: "\\d{8,10}",
  DE: "\\d{9}",
  DK: "\\d{8}",
  EE: "\\d{9}",
  EL: "\\d{9}",
  ES: "[A-Z0-9]\\d{7}[A-Z0-9]",
  FI: "\\d{8}",
  FR: "[A-HJ-NP-Z0-9]{2}\\d{9}",
  HR: "\\d{11}",
  HU: "\\d{8}",
  IE: "(?:\\d[A-Z0-9+*]\\d{5}[A-Z]|\\d{7}[A-Z]{1,2})",
  IT: "\\d{11}",
  LT: "(?:\\d{9}|\\d{12})",
  LU: "\\d{8}",
  LV: "\\d{11}",
  MT: "\\d{8}",
  NL: "[A-Z0-9+*]{10}\\d{2}",
  PL: "\\d{10}",
  PT: "\\d{9}",
  RO: "\\d{2,10}",
  SE: "\\d{12}",
  SI: "\\d{8}",
  SK: "\\d{10}",
  XI: "(?:\\d{9}|\\d{12}|(?:GD|HA)\\d{3})",
};

/**
 * VAT ids of countries outside it: the United Kingdom, Switzerland and Norway, as their tax authorities publish them.
 */
const OTHER_FORMATS: Readonly<Record<string, string>> = {
  GB: "(?:\\d{9}|\\d{12}|(?:GD|HA)\\d{3})",
  CH: "E-?\\d{3}\\.?\\d{3}\\.?\\d{3}(?: ?(?:MWST|TVA|IVA))?",
  NO: "\\d{9}(?:MVA)?",
};

const VAT_ID = new Map(
  Object.entries({ ...FORMATS, ...OTHER_FORMATS }).map(([prefix, format]) => [
    prefix,
    new RegExp(`^${prefix}${format}$`),
  ]),
);

/** Whether a number has the form of the VAT ids of the country that it begins with; an unknown country has none. */
export function isVatId(text: string): boolean {
  return VAT_ID.get(text.slice(0, 2))?.test(text) === true;
}

/** Whether a number is a VAT id of a country, by ISO 3166-1: those of Greece begin with EL. */
export function isVatIdOf(country: string, text: string): boolean {
  return text.startsWith(country === "GR" ? "EL" : country) && isVatId(text);
}

const FORMS = Object.entries(FORMATS).map(([prefix, format]) => prefix + format);
const PREFIXES = Object.keys(FORMATS).map((prefix) =>
  prefix.replaceAll(/./g, (letter) => `[${letter}${letter.toLowerCase()}]`),
);
const LINE = "[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]";

/**
 * A VAT id: after a prefix of the European Union the form of that country, otherwise one line of text. Whether the
 * number was ever issued is not checked.
 */
export const VAT_ID_PATTERN = new RegExp(`^(?:${FORMS.join("|")}|(?!${PREFIXES.join("|")})\\S${LINE}*)$`);
