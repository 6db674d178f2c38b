import { expect, test } from "vitest";
import { decideConfirmation } from "./identity-confirmation.ts";

const place = { orgId: "org-1", namespace: "org-org-1", objectName: "shop" };

test.each([
  { what: "no record", recorded: undefined, result: "new" },
  { what: "a record in this place", recorded: place, result: "known" },
  { what: "another organization", recorded: { ...place, orgId: "org-2" }, result: "refused" },
  { what: "another Namespace", recorded: { ...place, namespace: "org-org-2" }, result: "refused" },
  { what: "another name", recorded: { ...place, objectName: "other" }, result: "refused" },
])("an id that has $what is $result", ({ recorded, result }) => {
  expect(decideConfirmation(place, recorded)).toBe(result);
});
