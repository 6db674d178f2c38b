import { expect, test } from "vitest";
import { decideVerdict } from "./identity-verdicts.ts";

const place = { orgId: "org-1", namespace: "org-org-1", objectName: "shop" };

test.each([
  { what: "no record", recorded: undefined, verdict: "new" },
  { what: "a record in this place", recorded: place, verdict: "known" },
  { what: "another organization", recorded: { ...place, orgId: "org-2" }, verdict: "refused" },
  { what: "another Namespace", recorded: { ...place, namespace: "org-org-2" }, verdict: "refused" },
  { what: "another name", recorded: { ...place, objectName: "other" }, verdict: "refused" },
])("an id that has $what is $verdict", ({ recorded, verdict }) => {
  expect(decideVerdict(place, recorded)).toBe(verdict);
});
