import { expect, test } from "vitest";
import { findFormFault } from "./message-forms.ts";

test.each([
  ["out_of_range", "must be a whole number from 1 to 128"],
  ["invalid_format", "must be MAJOR.MINOR or MAJOR.MINOR.PATCH, as 1.35 or 1.35.1"],
  ["too_many", "must have at most 1 entry"],
])("%s: %j is an allowed form", (code, message) => {
  expect(findFormFault(code, message)).toBeUndefined();
});

test.each([
  ["out_of_range", "must be at most 9007199254740991"],
  ["invalid_format", "must be well formed"],
  ["invalid_type", "must be of type int"],
  ["too_short", "must have at least 1 characters"],
  ["min_gt_desired", "must not be greater than desiredNodes"],
  ["duplicate", "must be unique"],
  ["unheard_of", "must be a string"],
])("%s: %j is none", (code, message) => {
  expect(findFormFault(code, message)).toBeDefined();
});
