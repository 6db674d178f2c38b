/** What tells the VAT territory of an address. */
export interface Address {
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
 * amended by Directive (EU) 2019/475. Those with a code of their own in ISO 3166-1 (AX, FO, GL, GP, GF,
 * MQ, RE, YT, MF) are other countries here anyway.
 */
const EXCLUDED: readonly Territory[] = [
  // Las Palmas and Santa Cruz de Tenerife; Ceuta and Melilla.
  { country: "ES", postalCode: /^(?:35|38|51|52)\d{3}$/ },
  // The overseas departments and Saint Martin, which also have codes of their own.
  { country: "FR", postalCode: /^97[1-8]\d{2}$/ },
  // Åland.
  { country: "FI", postalCode: /^22\d{3}$/ },
  // Heligoland and Büsingen.
  { country: "DE", postalCode: /^(?:27498|78266)$/ },
  // Livigno and Campione d'Italia.
  { country: "IT", postalCode: /^(?:23041|22061)$/ },
  // Mount Athos.
  { country: "GR", postalCode: /^630 ?86$/ },
];

/** Transactions with these are treated as those with the country: Art. 7 of Directive 2006/112/EC. */
const TREATED_AS: Readonly<Record<string, string>> = { MC: "FR", IM: "GB" };

/**
 * The country whose VAT holds at an address for services; undefined for a part of a country of the European Union that is no
 * part of its VAT territory. Northern Ireland (GB, VAT numbers with XI) belongs to it for goods alone: Art. 8 of the Windsor
 * Framework.
 */
export function vatCountryOf({ country, postalCode }: Address): string | undefined {
  const code = (postalCode ?? "").trim();
  if (EXCLUDED.some((part) => part.country === country && part.postalCode.test(code))) return undefined;
  return TREATED_AS[country] ?? country;
}
