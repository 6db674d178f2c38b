import { expect, test } from "vitest";
import { vatCountryOf } from "./vat-territory.ts";

test.each([
  ["Berlin", "DE", "10115", "DE"],
  ["an address without a postal code", "ES", null, "ES"],
  ["Madrid", "ES", "28001", "ES"],
  ["Las Palmas", "ES", "35001", undefined],
  ["Santa Cruz de Tenerife", "ES", "38001", undefined],
  ["Ceuta", "ES", "51001", undefined],
  ["Melilla", "ES", "52001", undefined],
  ["Paris", "FR", "75001", "FR"],
  ["Réunion as France", "FR", "97400", undefined],
  ["Réunion", "RE", "97400", "RE"],
  ["Åland as Finland", "FI", "22100", undefined],
  ["Åland", "AX", "22100", "AX"],
  ["Heligoland", "DE", "27498", undefined],
  ["Büsingen", "DE", " 78266 ", undefined],
  ["Livigno", "IT", "23041", undefined],
  ["Campione d'Italia", "IT", "22061", undefined],
  ["Mount Athos", "GR", "630 86", undefined],
  ["Thessaloniki", "GR", "546 21", "GR"],
  ["Monaco", "MC", "98000", "FR"],
  ["the Isle of Man", "IM", "IM1 1AA", "GB"],
  ["Belfast", "GB", "BT1 1AA", "GB"],
  ["a code of Spain elsewhere", "DE", "35001", "DE"],
])("the VAT of %s", (_, country, postalCode, expected) => {
  expect(vatCountryOf({ country, postalCode })).toBe(expected);
});
