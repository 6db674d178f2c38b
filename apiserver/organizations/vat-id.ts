/**
 * Formats of VAT identification numbers by country prefix: those of the European Union as its VIES service accepts
 * them, and those of neighbouring countries. In capitals and without spaces.
 */
const FORMATS: Readonly<Record<string, string>> = {
  AT: "U\\d{8}",
  BE: "[01]\\d{9}",
  BG: "\\d{9,10}",
  CHE: "\\d{9}(?:MWST|TVA|IVA)?",
  CY: "\\d{8}[A-Z]",
  CZ: "\\d{8,10}",
  DE: "\\d{9}",
  DK: "\\d{8}",
  EE: "\\d{9}",
  EL: "\\d{9}",
  ES: "[A-Z0-9]\\d{7}[A-Z0-9]",
  FI: "\\d{8}",
  FR: "[A-HJ-NP-Z0-9]{2}\\d{9}",
  GB: "(?:\\d{9}|\\d{12}|(?:GD|HA)\\d{3})",
  HR: "\\d{11}",
  HU: "\\d{8}",
  IE: "(?:\\d[A-Z0-9+*]\\d{5}[A-Z]|\\d{7}[A-Z]{1,2})",
  IS: "\\d{5,6}",
  IT: "\\d{11}",
  LI: "\\d{5}",
  LT: "(?:\\d{9}|\\d{12})",
  LU: "\\d{8}",
  LV: "\\d{11}",
  MT: "\\d{8}",
  NL: "[A-Z0-9+*]{10}\\d{2}",
  NO: "\\d{9}(?:MVA)?",
  PL: "\\d{10}",
  PT: "\\d{9}",
  RO: "\\d{2,10}",
  SE: "\\d{10}01",
  SI: "\\d{8}",
  SK: "\\d{10}",
  XI: "(?:\\d{9}|\\d{12}|(?:GD|HA)\\d{3})",
};

/** The format of a VAT id; whether the number was ever issued is not checked. */
export const VAT_ID_PATTERN = new RegExp(
  `^(?:${Object.entries(FORMATS)
    .map(([prefix, format]) => prefix + format)
    .join("|")})$`,
);
