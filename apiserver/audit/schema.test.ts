import { expect, test } from "vitest";
import { auditQuery } from "./schema.ts";

test.each([
  ["actor", 253],
  ["action", 253],
  ["target", 512],
])("the filter %s counts characters, not UTF-16 units: %i are accepted, one more is not", (name, length) => {
  expect(auditQuery.safeParse({ [name]: "😀".repeat(length) }).success).toBe(true);
  expect(auditQuery.safeParse({ [name]: "😀".repeat(length + 1) }).success).toBe(false);
});
