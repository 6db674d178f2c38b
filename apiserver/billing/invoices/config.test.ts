import { expect, test } from "vitest";
import { invoicingSchema } from "./config.ts";

const supplier = {
  name: "Marina Cloud GmbH",
  street: "Hafen 1",
  postalCode: "20457",
  city: "Hamburg",
  country: "DE",
  vatId: "DE123456789",
  email: "invoices@marina.example",
};

test("rates in percent become hundredths of a percent, and the prefix has a default", () => {
  expect(invoicingSchema.parse({ supplier, vatRates: { DE: 19, FI: 25.5, CH: 8.1 } })).toEqual({
    supplier,
    vatBasisPoints: { DE: 1900, FI: 2550, CH: 810 },
    numberPrefix: "INV",
  });
});

test.each([
  { vatId: null, taxNumber: "12/345/67890" },
  { vatId: "CHE-123.456.789 MWST" },
  { vatId: "FR40303265045", taxNumber: "1" },
])("a supplier is known by %j", (numbers) => {
  const value = { supplier: { ...supplier, ...numbers }, vatRates: { DE: 19 } };
  expect(invoicingSchema.parse(value).supplier).toMatchObject(numbers);
});

test("the account of the supplier is kept without spaces", () => {
  const bank = { iban: "DE89 3704 0044 0532 0130 00", bic: "COBADEFFXXX" };
  const { supplier: kept } = invoicingSchema.parse({ supplier: { ...supplier, bank }, vatRates: { DE: 19 } });
  expect(kept.bank).toEqual({ iban: "DE89370400440532013000", bic: "COBADEFFXXX" });
});

test.each([
  [
    "an IBAN with a wrong digit",
    { supplier: { ...supplier, bank: { iban: "DE89370400440532013001" } }, vatRates: { DE: 19 } },
  ],
  [
    "a BIC that is none",
    {
      supplier: { ...supplier, bank: { iban: "DE89370400440532013000", bic: "COBA" } },
      vatRates: { DE: 19 },
    },
  ],
  ["no rate of the supplier's country", { supplier, vatRates: { FR: 20 } }],
  ["a rate of 3 decimals", { supplier, vatRates: { DE: 19.001 } }],
  ["a rate above 100", { supplier, vatRates: { DE: 101 } }],
  ["a country in small letters", { supplier, vatRates: { DE: 19, fr: 20 } }],
  ["a rate of EL", { supplier, vatRates: { DE: 19, EL: 24 } }],
  ["a supplier in UK", { supplier: { ...supplier, country: "UK" }, vatRates: { UK: 20 } }],
  ["no supplier", { vatRates: { DE: 19 } }],
  ["a VAT id of another form", { supplier: { ...supplier, vatId: "DE12" }, vatRates: { DE: 19 } }],
  ["a tax number as a VAT id", { supplier: { ...supplier, vatId: "12/345/67890" }, vatRates: { DE: 19 } }],
  ["neither number", { supplier: { ...supplier, vatId: null }, vatRates: { DE: 19 } }],
])("%s is refused", (_what, value) => {
  expect(invoicingSchema.safeParse(value).success).toBe(false);
});
