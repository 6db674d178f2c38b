import { expect, test } from "vitest";
import { decideConfirmation } from "./identity-confirmation.ts";

const place = { orgId: "org-1", namespace: "org-org-1", objectName: "shop" };
const unknown = { recorded: undefined, isOfOther: false, isCreatedByRest: false };
const at = (other: Partial<typeof place>) => ({ ...unknown, recorded: { ...place, ...other } });

test.each([
  { what: "no record", known: unknown, result: "new" },
  { what: "a record in this place", known: at({}), result: "known" },
  {
    what: "the record that REST wrote when it created it",
    known: { ...at({}), isCreatedByRest: true },
    result: "new",
  },
  { what: "another organization", known: at({ orgId: "org-2" }), result: "refused" },
  { what: "another Namespace", known: at({ namespace: "org-org-2" }), result: "refused" },
  { what: "another name", known: at({ objectName: "other" }), result: "refused" },
  {
    what: "an object of the other kind, or a second one",
    known: { ...unknown, isOfOther: true },
    result: "refused",
  },
  {
    what: "another organization, made by REST",
    known: { ...at({ orgId: "org-2" }), isCreatedByRest: true },
    result: "refused",
  },
])("an id that has $what is $result", ({ known, result }) => {
  expect(decideConfirmation(place, known)).toBe(result);
});
