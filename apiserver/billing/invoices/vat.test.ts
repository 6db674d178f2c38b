import { describe, expect, test } from "vitest";
import { TEST_SUPPLIER } from "../testing.ts";
import type { Invoicing } from "./config.ts";
import { vatCents, vatCountryOf, vatOf } from "./vat.ts";

const invoicing: Invoicing = {
  supplier: TEST_SUPPLIER,
  vatBasisPoints: { DE: 1900, FR: 2000 },
  numberPrefix: "INV",
};

describe("VAT of a supplier in Germany", () => {
  test.each([
    ["a German company", "DE", "DE987654321", "domestic", 1900],
    ["a German person", "DE", null, "domestic", 1900],
    ["a French company", "FR", "FR12345678901", "reverse_charge", 0],
    ["a Greek company, whose id begins with EL", "GR", "EL123456789", "reverse_charge", 0],
    ["a French person pays the rate of France", "FR", null, "eu_consumer", 2000],
    ["a French buyer with the id of another country", "FR", "123", "eu_consumer", 2000],
    ["a Polish person pays the supplier's rate, for none is configured", "PL", null, "eu_consumer", 1900],
    ["a Swiss company", "CH", "CHE-123.456.789", "outside_eu", 0],
    ["a British company", "GB", "GB123456789", "outside_eu", 0],
  ])("%s", (_name, country, vatId, expected, basisPoints) => {
    expect(vatOf(invoicing, { country, vatId, postalCode: null })).toEqual({ case: expected, basisPoints });
  });

  test.each([
    ["a company in Monaco with its French id", "MC", "98000", "FR12345678901", "reverse_charge", 0],
    ["a person in Monaco pays the rate of France", "MC", "98000", null, "eu_consumer", 2000],
    ["a company on the Canaries", "ES", "35001", "ESX1234567X", "outside_eu", 0],
    ["a company in Büsingen", "DE", "78266", "DE987654321", "outside_eu", 0],
    ["a company on Åland", "AX", "22100", "FI12345678", "outside_eu", 0],
    ["a company in French Polynesia", "PF", "98714", "FR12345678901", "outside_eu", 0],
    ["a company in New Caledonia as France", "FR", "98800", "FR12345678901", "outside_eu", 0],
    [
      "a company in Northern Ireland, for goods alone have XI",
      "GB",
      "BT1 1AA",
      "XI123456789",
      "outside_eu",
      0,
    ],
    ["a company on the Isle of Man", "IM", "IM1 1AA", "GB123456789", "outside_eu", 0],
  ])("%s", (_name, country, postalCode, vatId, expected, basisPoints) => {
    expect(vatOf(invoicing, { country, vatId, postalCode })).toEqual({ case: expected, basisPoints });
  });
});

test("a supplier outside the European Union charges VAT in its own country alone", () => {
  const swiss = {
    ...invoicing,
    supplier: { ...TEST_SUPPLIER, country: "CH" },
    vatBasisPoints: { CH: 810, DE: 1900 },
  };
  expect(vatOf(swiss, { country: "CH", vatId: null, postalCode: null })).toEqual({
    case: "domestic",
    basisPoints: 810,
  });
  expect(vatOf(swiss, { country: "DE", vatId: null, postalCode: null })).toEqual({
    case: "outside_eu",
    basisPoints: 0,
  });
});

test.each([
  [100n, 1900, 19n],
  [50n, 1900, 10n],
  [49n, 1900, 9n],
  [-50n, 1900, -10n],
  [10_000n, 0, 0n],
])("VAT on %d cents at %d hundredths of a percent is %d cents", (net, basisPoints, expected) => {
  expect(vatCents(net, { case: "domestic", basisPoints })).toBe(expected);
});

test.each([
  ["Berlin", "DE", "10115", "DE"],
  ["an address without a postal code", "ES", null, "ES"],
  ["Madrid", "ES", "28001", "ES"],
  ["Las Palmas", "ES", "35001", undefined],
  ["Las Palmas with the sign of the country", "ES", "E-35001", undefined],
  ["Las Palmas in groups", "ES", "35 001", undefined],
  ["Berlin with the sign of the country", "DE", "D-10115", "DE"],
  ["Åland with the code of the country", "FI", "FI-22100", undefined],
  ["Santa Cruz de Tenerife", "ES", "38001", undefined],
  ["Ceuta", "ES", "51001", undefined],
  ["Melilla", "ES", "52001", undefined],
  ["Paris", "FR", "75001", "FR"],
  ["Réunion as France", "FR", "97400", undefined],
  ["Réunion", "RE", "97400", "RE"],
  ["Saint-Pierre and Miquelon as France", "FR", "97500", undefined],
  ["Saint-Barthélemy as France", "FR", "97700", undefined],
  ["Saint-Martin as France", "FR", "97800", undefined],
  ["the southern territories as France", "FR", "98413", undefined],
  ["Wallis and Futuna as France", "FR", "98600", undefined],
  ["French Polynesia as France", "FR", "98714", undefined],
  ["New Caledonia as France", "FR", "98800", undefined],
  ["New Caledonia", "NC", "98800", "NC"],
  ["Monaco as France", "FR", "98000", "FR"],
  ["Corsica", "FR", "20000", "FR"],
  ["Copenhagen", "DK", "1050", "DK"],
  ["Greenland as Denmark", "DK", "3900", undefined],
  ["the Faroe Islands as Denmark", "DK", "FO-100", undefined],
  ["San Marino as Italy", "IT", "47890", undefined],
  ["Vatican City as Italy", "IT", "00120", undefined],
  ["Åland as Finland", "FI", "22100", undefined],
  ["Åland", "AX", "22100", "AX"],
  ["Heligoland", "DE", "27498", undefined],
  ["Büsingen", "DE", " 78266 ", undefined],
  ["Livigno", "IT", "23041", undefined],
  ["Campione d'Italia", "IT", "22061", undefined],
  ["Mount Athos", "GR", "630 86", undefined],
  ["Mount Athos by its port", "GR", "630 87", undefined],
  ["Thessaloniki", "GR", "546 21", "GR"],
  ["Monaco", "MC", "98000", "FR"],
  ["the Isle of Man", "IM", "IM1 1AA", "GB"],
  ["Belfast", "GB", "BT1 1AA", "GB"],
  ["a code of Spain elsewhere", "DE", "35001", "DE"],
])("the VAT of %s", (_, country, postalCode, expected) => {
  expect(vatCountryOf({ country, postalCode })).toBe(expected);
});
