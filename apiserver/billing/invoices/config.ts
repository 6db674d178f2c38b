import { electronicFormatIBAN, isValidBIC, isValidIBAN } from "ibantools";
import { z } from "zod";
import { jsonText } from "../../../shared/program/config.ts";
import { isVatId } from "../../http/contract/fields.ts";
import { findCountryFault } from "../country.ts";

const country = z.string().superRefine((code, context) => {
  const message = findCountryFault(code);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});
const line = z.string().trim().min(1).max(200);
const BASIS_POINTS_PER_PERCENT = 100;

/** The account that invoices are paid to. */
const bankSchema = z.strictObject({
  iban: z
    .string()
    .transform((iban) => electronicFormatIBAN(iban) ?? "")
    .refine(isValidIBAN, "must be an IBAN (ISO 13616), as DE89 3704 0044 0532 0130 00"),
  bic: z.string().refine(isValidBIC, "must be a BIC (ISO 9362), as COBADEFFXXX").optional(),
});

/** Who issues the platform's invoices: with a VAT id, another tax number, or both. */
const supplierSchema = z.strictObject({
  name: line,
  street: line,
  postalCode: line,
  city: line,
  /** ISO 3166-1 alpha-2. */
  country,
  vatId: line.nullable().default(null),
  /** A tax number that is no VAT id. */
  taxNumber: line.optional(),
  email: z.email(),
  bank: bankSchema.optional(),
});

export type Supplier = z.output<typeof supplierSchema>;

/** How the platform issues invoices. */
export interface Invoicing {
  supplier: Supplier;
  /** Rates of VAT in hundredths of a percent by country; that of the supplier's own country is among them. */
  vatBasisPoints: Readonly<Record<string, number>>;
  /** What the number of an invoice begins with. */
  numberPrefix: string;
}

/** Rates are given in percent, with at most 2 decimals. */
export const invoicingSchema = z
  .strictObject({
    supplier: supplierSchema,
    vatRates: z.record(
      country,
      z
        .number()
        .min(0)
        .max(100)
        .refine((percent) => /^\d+(\.\d{1,2})?$/.test(String(percent)), "must have at most 2 decimals"),
    ),
    numberPrefix: z
      .string()
      .regex(/^[A-Z0-9]{1,10}$/, "must be 1 to 10 capitals and digits")
      .default("INV"),
  })
  .refine(({ supplier }) => supplier.vatId !== null || supplier.taxNumber !== undefined, {
    path: ["supplier", "vatId"],
    error: "must be given, or supplier.taxNumber in its place",
  })
  .refine(({ supplier }) => supplier.vatId === null || isVatId(supplier.vatId), {
    path: ["supplier", "vatId"],
    error: "must have the form of its country's VAT ids; another number belongs in supplier.taxNumber",
  })
  .refine(({ supplier, vatRates }) => supplier.country in vatRates, {
    path: ["vatRates"],
    error: "must hold the rate of the supplier's own country",
  })
  .transform(({ vatRates, ...rest }): Invoicing => {
    const entries = Object.entries(vatRates).map(
      ([name, percent]) => [name, Math.round(percent * BASIS_POINTS_PER_PERCENT)] as const,
    );
    return { ...rest, vatBasisPoints: Object.fromEntries(entries) };
  });

/** Who issues invoices, and with which VAT; absent: what is due waits. */
export const invoicingVariables = z
  .object({ MARINA_INVOICING: jsonText(invoicingSchema).optional() })
  .transform((env) => ({ invoicing: env.MARINA_INVOICING }));
