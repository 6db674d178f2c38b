import { expect, test } from "vitest";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import { chooseVersion, resolveTarget } from "./version.ts";

const catalogue: VersionCatalogue = ["1.33.6", "1.34.2", "1.35.1", "1.36.0"].map((version) => ({
  version,
  status: "supported",
}));

test.each([
  { wanted: "1.34", last: undefined, target: "1.34.2", what: "the newest patch of a minor" },
  { wanted: "v1.34", last: undefined, target: "1.34.2", what: "the same with a v" },
  { wanted: "1.34", last: "1.34.1", target: "1.34.1", what: "what it was resolved to before" },
  { wanted: "1.34.2", last: "1.34.1", target: "1.34.2", what: "a full version as it stands" },
  { wanted: "1.32.4", last: "1.32.4", target: "1.32.4", what: "one that the catalogue has dropped" },
  { wanted: "1.35", last: "1.34.2", target: "1.35.1", what: "another minor" },
  { wanted: "1.32", last: undefined, target: undefined, what: "nothing, out of the catalogue" },
])("$wanted after $last means $what", ({ wanted, last, target }) => {
  expect(resolveTarget(wanted, last, catalogue)).toBe(target);
});

const live = (version: string, settled = true) => ({ version, settled });

test.each([
  { what: "nothing runs yet", target: "1.34.2", now: undefined, chosen: "1.34.2" },
  { what: "it runs already", target: "1.34.2", now: live("1.34.2"), chosen: "1.34.2" },
  { what: "it is the next minor", target: "1.35.1", now: live("1.34.2"), chosen: "1.35.1" },
  { what: "it is a higher patch", target: "1.34.2", now: live("1.34.0"), chosen: "1.34.2" },
  { what: "the last step has not settled", target: "1.35.1", now: live("1.34.2", false), chosen: "1.34.2" },
  { what: "it is two minors away", target: "1.36.0", now: live("1.34.2"), chosen: "1.35.1" },
  { what: "it is older", target: "1.33.6", now: live("1.34.2"), chosen: "1.34.2" },
])("the engine is asked for $chosen when $target is wanted and $what", ({ target, now, chosen }) => {
  expect(chooseVersion({ target, live: now, catalogue, chained: [] })).toBe(chosen);
});

test("a class that chains versions is asked for the last one at once", () => {
  const chained = ["v1.34.2", "v1.35.1", "v1.36.0"];
  expect(chooseVersion({ target: "1.36.0", live: live("1.34.2"), catalogue, chained })).toBe("1.36.0");
});
