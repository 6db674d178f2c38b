import { expect, test } from "vitest";
import { isVatId, isVatIdOf, VAT_ID_PATTERN } from "./fields.ts";

test.each([
  "ATU12345678",
  "BE0123456789",
  "CHE123456789MWST",
  "DE123456789",
  "EL123456789",
  "ESX1234567X",
  "FRXX123456789",
  "GB999999973",
  "IE1234567FA",
  "IE1A23456B",
  "IT12345678901",
  "LT123456789012",
  "NL123456789B01",
  "PL1234567890",
  "RO12",
  "SE123456789001",
  "XI123456789",
  "SE123456789002",
  "GB 999 9999 73",
  "CHE-123.456.789 MWST",
  "12-3456789",
  "US12-3456789",
])("%s has the form of a VAT id", (id) => {
  expect(id).toMatch(VAT_ID_PATTERN);
});

test.each([
  "",
  "DE12345678",
  "DE1234567890",
  "de123456789",
  "DE 123456789",
  "DE123456789\n",
  "AT12345678",
  "SE12345678900",
  " GB999999973",
  "GB1\u2028",
  "GB1\u0007",
  "BE2123456789",
  "DE12345678٩",
])("%j has not", (id) => {
  expect(id).not.toMatch(VAT_ID_PATTERN);
});

test("every country of the European Union has its form, and XI", () => {
  const prefixes =
    "AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK XI".split(" ");
  expect(prefixes.filter((prefix) => VAT_ID_PATTERN.test(`${prefix}x`))).toEqual([]);
});

test.each([
  ["DE123456789", true],
  ["DE12345678", false],
  ["de123456789", false],
  ["GB999999973", true],
  ["CHE-123.456.789 MWST", true],
  ["NO123456789MVA", true],
  ["US12-3456789", false],
  ["XX anything", false],
  ["GBnonsense", false],
  ["GB 999 9999 73", false],
  ["12/345/67890", false],
  ["", false],
])("%s: has the form of its country's VAT ids: %s", (text, expected) => {
  expect(isVatId(text)).toBe(expected);
});

test.each([
  ["GR", "EL123456789", true],
  ["GR", "GR123456789", false],
  ["FR", "FR40303265045", true],
  ["FR", "FR4030326504", false],
  ["FR", "DE123456789", false],
])("in %s, %s is a VAT id of it: %s", (country, text, expected) => {
  expect(isVatIdOf(country, text)).toBe(expected);
});
