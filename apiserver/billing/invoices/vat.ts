import { isVatIdOf } from "../../http/contract/fields.ts";
import { divideHalfUp } from "../money.ts";
import type { Invoicing } from "./config.ts";

/**
 * Why a rate of VAT applies: the supplier's country; another country of the European Union, whose buyer accounts for
 * the tax (Art. 196 of Directive 2006/112/EC) or pays that country's rate; or no country of it.
 */
export const VAT_CASES = ["domestic", "reverse_charge", "eu_consumer", "outside_eu"] as const;
export type VatCase = (typeof VAT_CASES)[number];

/** The VAT of an invoice. */
interface Vat {
  case: VatCase;
  basisPoints: number;
}

const EU_COUNTRIES = new Set(
  "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" "),
);

const BASIS_POINTS = 10_000n;

/**
 * The VAT that a buyer pays, by the VAT territory of its address. A buyer in the European Union without a VAT id pays
 * the rate of its own country, if configured.
 */
export function vatOf(
  { supplier, vatBasisPoints }: Invoicing,
  buyer: Address & { vatId: string | null },
): Vat {
  const [from, to] = [vatCountryOf(supplier), vatCountryOf(buyer)];
  const domestic = vatBasisPoints[from ?? supplier.country] ?? 0;
  if (to !== undefined && to === from) return { case: "domestic", basisPoints: domestic };
  if (from === undefined || to === undefined || !EU_COUNTRIES.has(from) || !EU_COUNTRIES.has(to))
    return { case: "outside_eu", basisPoints: 0 };
  if (buyer.vatId !== null && isVatIdOf(to, buyer.vatId)) return { case: "reverse_charge", basisPoints: 0 };
  return { case: "eu_consumer", basisPoints: vatBasisPoints[to] ?? domestic };
}

/** VAT on a net amount, in cents, a half away from zero. */
export function vatCents(netCents: bigint, { basisPoints }: Vat): bigint {
  return divideHalfUp(netCents * BigInt(basisPoints), BASIS_POINTS);
}

/** Why an invoice has no VAT, in the words that it must say (EN 16931-1, BT-120); undefined where it has. */
export function exemptionReasonOf(vatCase: VatCase): string | undefined {
  return EXEMPTION_REASONS[vatCase];
}

const EXEMPTION_REASONS: Readonly<Partial<Record<VatCase, string>>> = {
  reverse_charge: "Reverse charge: the buyer accounts for the VAT.",
  outside_eu: "Not subject to VAT: supplied outside the European Union.",
};

/** What decides the VAT territory of an address. */
interface Address {
  /** ISO 3166-1 alpha-2. */
  country: string;
  postalCode: string | null;
}

/** A part of a country whose postal codes alone tell it from the rest. */
interface Territory {
  country: string;
  postalCode: RegExp;
}

/**
 * Parts of countries that do not belong to the VAT territory of the European Union: Art. 6 of Directive 2006/112/EC as
 * amended by Directive (EU) 2019/475, and by Art. 5(2) what the Treaties do not apply to: the countries and territories of
 * Annex II to the TFEU, and the Faroe Islands (Art. 355(5) TFEU). Those with a code of their own in ISO 3166-1 (AX, BL, FO,
 * GF, GL, GP, MF, MQ, NC, PF, PM, RE, TF, WF, YT) are other countries here anyway.
 */
const EXCLUDED: readonly Territory[] = [
  // Las Palmas and Santa Cruz de Tenerife; Ceuta and Melilla.
  { country: "ES", postalCode: /^(?:35|38|51|52)\d{3}$/ },
  // Overseas: 971-974, 976, 978 by Art. 6; 975, 977, 984 and 986-988 by Annex II. 980 is Monaco: see TREATED_AS.
  { country: "FR", postalCode: /^(?:97[1-8]|98[4678])\d{2}$/ },
  // Greenland; the Faroe Islands, whose codes alone have three digits.
  { country: "DK", postalCode: /^(?:39\d{2}|\d{3})$/ },
  // Åland.
  { country: "FI", postalCode: /^22\d{3}$/ },
  // Heligoland and Büsingen.
  { country: "DE", postalCode: /^(?:27498|78266)$/ },
  // Livigno and Campione d'Italia; San Marino and Vatican City, whose codes are among those of Italy.
  { country: "IT", postalCode: /^(?:23041|22061|4789\d|00120)$/ },
  // Mount Athos.
  { country: "GR", postalCode: /^6308[67]$/ },
];

/** Transactions with these are treated as those with the country: Art. 7 of Directive 2006/112/EC. */
const TREATED_AS: Readonly<Record<string, string>> = { MC: "FR", IM: "GB" };

/**
 * The country whose VAT holds at an address for services; undefined for a part of a country of the European Union that
 * is no part of its VAT territory. Northern Ireland (GB, VAT numbers with XI) belongs to it for goods alone: Art. 8 of
 * the Windsor Framework.
 */
export function vatCountryOf({ country, postalCode }: Address): string | undefined {
  // People write "E-35001", "35 001" and "FI-22100".
  const code = (postalCode ?? "").replace(/^[\s-]*[a-z]{1,3}[\s-]*(?=\d)/i, "").replaceAll(/[\s.-]/g, "");
  if (EXCLUDED.some((part) => part.country === country && part.postalCode.test(code))) return undefined;
  return TREATED_AS[country] ?? country;
}
