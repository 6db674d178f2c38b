import { expect, test } from "vitest";
import { findCountryFault, isCountry, nameOfCountry } from "./country.ts";

test.each([
  ["DE", undefined],
  ["GR", undefined],
  ["GB", undefined],
  ["AX", undefined],
  ["MC", undefined],
  ["TW", undefined],
  ["EL", "must be GR, the code of ISO 3166-1 for Greece"],
  ["UK", "must be GB, the code of ISO 3166-1 for United Kingdom"],
  ["XX", "must be the code of a country in ISO 3166-1, as DE"],
  ["XK", "must be the code of a country in ISO 3166-1, as DE"],
  ["EU", "must be the code of a country in ISO 3166-1, as DE"],
  ["ZZ", "must be the code of a country in ISO 3166-1, as DE"],
  ["de", "must be a country as two capitals, as DE (ISO 3166-1)"],
  ["DEU", "must be a country as two capitals, as DE (ISO 3166-1)"],
  ["", "must be a country as two capitals, as DE (ISO 3166-1)"],
])("%j as a country: %s", (code, fault) => {
  expect(findCountryFault(code)).toBe(fault);
});

test("there are the 249 countries of the standard, each with a name", () => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split("");
  const countries = letters.flatMap((one) => letters.map((other) => one + other)).filter(isCountry);
  expect(countries).toHaveLength(249);
  expect(countries.filter((code) => nameOfCountry(code) === code)).toEqual([]);
});
