import { expect, test } from "vitest";
import { findKeptSubjects, isOfAccess, isOfNoLiveRight, type Subject } from "./foreign-subjects.ts";

const LIVE = new Set(["cloud.marina.dev:access:live", "cloud.marina.dev:admin:c:2"]);

test.each<[string, Subject, boolean]>([
  ["the group of a live access", { kind: "Group", name: "cloud.marina.dev:access:live" }, false],
  ["the group of one that has ended", { kind: "Group", name: "cloud.marina.dev:access:gone" }, true],
  ["the admin's user of this generation", { kind: "User", name: "cloud.marina.dev:admin:c:2" }, false],
  ["the admin's user of the one before", { kind: "User", name: "cloud.marina.dev:admin:c:1" }, true],
  ["the admin's user without a generation", { kind: "User", name: "cloud.marina.dev:admin:c" }, true],
  ["a user of the tenant's", { kind: "User", name: "alice" }, false],
  ["a ServiceAccount, whatever it is called", { kind: "ServiceAccount", name: "cloud.marina.dev:x" }, false],
])("in a binding of the tenant's, %s is a right that has ended: %o", (_, subject, isEnded) => {
  expect(isOfNoLiveRight(LIVE)(subject)).toBe(isEnded);
});

test.each<[string, Subject, string | undefined, boolean]>([
  ["the group of the access", { kind: "Group", name: "g" }, undefined, true],
  ["another group", { kind: "Group", name: "u" }, "u", false],
  ["the user of the access, who has no other", { kind: "User", name: "u" }, "u", true],
  ["the user of the access, who has another", { kind: "User", name: "u" }, undefined, false],
])("with a revoked access ends %s", (_, subject, user, isEnded) => {
  expect(isOfAccess("g", user)(subject)).toBe(isEnded);
});

test("a binding keeps its other subjects, and is left alone when it names none that has ended", () => {
  const ended = { kind: "Group", name: "cloud.marina.dev:access:gone" };
  const other = { kind: "User", name: "alice" };
  const binding = { apiVersion: "v1", kind: "ClusterRoleBinding", metadata: { name: "b" } };
  const keep = (subjects?: Subject[]) => findKeptSubjects({ ...binding, subjects }, isOfNoLiveRight(LIVE));
  expect(keep([ended, other])).toEqual([other]);
  expect(keep([ended])).toEqual([]);
  expect(keep([other])).toBeUndefined();
  expect(keep()).toBeUndefined();
});
