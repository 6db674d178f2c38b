import { expect, test } from "vitest";
import { decideWord } from "./identity-words.ts";

const place = { orgId: "org-1", namespace: "org-org-1", objectName: "shop" };

test.each([
  { what: "no record", recorded: undefined, word: "new" },
  { what: "a record in this place", recorded: place, word: "known" },
  { what: "another organization", recorded: { ...place, orgId: "org-2" }, word: "refused" },
  { what: "another Namespace", recorded: { ...place, namespace: "org-org-2" }, word: "refused" },
  { what: "another name", recorded: { ...place, objectName: "other" }, word: "refused" },
])("an id that has $what is $word", ({ recorded, word }) => {
  expect(decideWord(place, recorded)).toBe(word);
});
