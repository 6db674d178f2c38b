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
  ["no rate of the supplier's country", { supplier, vatRates: { FR: 20 } }],
  ["a rate of 3 decimals", { supplier, vatRates: { DE: 19.001 } }],
  ["a rate above 100", { supplier, vatRates: { DE: 101 } }],
  ["a country in small letters", { supplier, vatRates: { DE: 19, fr: 20 } }],
  ["no supplier", { vatRates: { DE: 19 } }],
])("%s is refused", (_what, value) => {
  expect(invoicingSchema.safeParse(value).success).toBe(false);
});
