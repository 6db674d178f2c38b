import { expect, test } from "vitest";
import { findFormFault } from "./message-forms.ts";
import { readSeen } from "./seen.ts";

test("every message about a wrong field, of every operation that the tests have called, has an allowed form", () => {
  const faults = [...readSeen("message")].filter((line) => {
    const { code, message } = JSON.parse(line);
    return findFormFault(code, message) !== undefined;
  });
  expect(faults).toEqual([]);
});
