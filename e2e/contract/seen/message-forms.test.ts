import { expect, test } from "vitest";
import { findFormFault, findTenantTextFault } from "./message-forms.ts";

test.each([
  ["out_of_range", "must be a whole number from 1 to 128"],
  ["invalid_format", "must be MAJOR.MINOR or MAJOR.MINOR.PATCH, as 1.35 or 1.35.1"],
  ["too_many", "must have at most 1 entry"],
  [
    "unsupported",
    'is not available; choose dev, growth or none, or ask the platform\'s operator ("No class.")',
  ],
  ["unsupported", 'is not available; ask the platform\'s operator ("No class.")'],
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

test.each([
  "Machine demo-web-x7k2p-abcde has not joined: no capacity.",
  "Scaling to 1 node: 1 exists, 0 are ready.",
  "The control plane of demo is being provisioned: not enough memory.",
])("tenants may read %j", (text) => {
  expect(findTenantTextFault(text)).toBeUndefined();
});

test.each([
  "remove its finalizers",
  "UID in precondition: 1",
  "the object 7205b06a-a404-49fb-bc96-844d27d421e3 exists",
  "look at org-0193a1f2/first",
  "MachineDeployment demo-web-x7k2p is not available",
  "look at the Deployment demo-autoscaler",
  "the object has been modified",
  "Scaling to 1 nodes",
])("tenants do not read %j", (text) => {
  expect(findTenantTextFault(text)).toBeDefined();
});
