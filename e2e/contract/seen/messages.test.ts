import { expect, test } from "vitest";
import { findFormFault, findTenantTextFault } from "./message-forms.ts";
import { readSeen } from "./seen.ts";

test("every message about a wrong field, of every operation that the tests have called, has an allowed form", () => {
  const faults = [...readSeen("message")].filter((line) => {
    const { code, message } = JSON.parse(line);
    return findFormFault(code, message) !== undefined;
  });
  expect(faults).toEqual([]);
});

test("every text that tenants have read, of REST or in a status, is meant for them", () => {
  const faults = [...readSeen("text")].flatMap((line) => {
    const fault = findTenantTextFault(JSON.parse(line).text);
    return fault === undefined ? [] : [`${fault}: ${line}`];
  });
  expect(faults).toEqual([]);
});
