import { expect, test } from "vitest";
import { findKeptSubjects, isOfAccess, isOfNoLiveRight, nameAccessRights, type Subject } from "./subjects.ts";

const LIVE = [
  "cloud.marina.dev:access:live",
  "cloud-marina-dev-access-live",
  "cloud.marina.dev:admin:c:2",
  "cloud-marina-dev-admin-2",
];
const isEnded = isOfNoLiveRight((name) => LIVE.includes(name));
const account = (name: string, namespace = "kube-system") => ({ kind: "ServiceAccount", name, namespace });
const ACCOUNT_USER = "system:serviceaccount:kube-system:";

test.each<[string, Subject, boolean]>([
  ["the group of a live access", { kind: "Group", name: "cloud.marina.dev:access:live" }, false],
  ["the group of one that has ended", { kind: "Group", name: "cloud.marina.dev:access:gone" }, true],
  ["the admin's user of this generation", { kind: "User", name: "cloud.marina.dev:admin:c:2" }, false],
  ["the admin's user of the one before", { kind: "User", name: "cloud.marina.dev:admin:c:1" }, true],
  ["the admin's user without a generation", { kind: "User", name: "cloud.marina.dev:admin:c" }, true],
  ["a user of the tenant's", { kind: "User", name: "alice" }, false],
  ["a ServiceAccount called like a group", account("cloud.marina.dev:x"), false],
  ["the account of a live access", account("cloud-marina-dev-access-live"), false],
  ["the account of one that has ended", account("cloud-marina-dev-access-gone"), true],
  ["the account of a former generation", account("cloud-marina-dev-admin-1"), true],
  ["the same account as a user", { kind: "User", name: `${ACCOUNT_USER}cloud-marina-dev-admin-1` }, true],
  ["a live account as a user", { kind: "User", name: `${ACCOUNT_USER}cloud-marina-dev-admin-2` }, false],
  ["an account of that name elsewhere", account("cloud-marina-dev-admin-1", "default"), false],
  ["another account as a user", { kind: "User", name: `${ACCOUNT_USER}default` }, false],
])("in a binding of the tenant's, %s is a right that has ended: %o", (_, subject, expected) => {
  expect(isEnded(subject)).toBe(expected);
});

test.each<[string, Subject, string | undefined, boolean]>([
  ["the group of the access", { kind: "Group", name: "cloud.marina.dev:access:a" }, undefined, true],
  ["its account", account("cloud-marina-dev-access-a"), undefined, true],
  ["no group of another access", { kind: "Group", name: "cloud.marina.dev:access:b" }, "u", false],
  ["no group called like the user", { kind: "Group", name: "u" }, "u", false],
  ["the user of the access, who has no other", { kind: "User", name: "u" }, "u", true],
  ["no user who has another one", { kind: "User", name: "u" }, undefined, false],
])("with a revoked access ends %s", (_, subject, user, expected) => {
  expect(isOfAccess(nameAccessRights("a"), user)(subject)).toBe(expected);
});

test("a binding keeps its other subjects, and is left alone when it names none that has ended", () => {
  const ended = { kind: "Group", name: "cloud.marina.dev:access:gone" };
  const other = { kind: "User", name: "alice" };
  const keep = (subjects?: Subject[]) => findKeptSubjects({ subjects }, isEnded);
  expect(keep([ended, other])).toEqual([other]);
  expect(keep([ended])).toEqual([]);
  expect(keep([other])).toBeUndefined();
  expect(keep()).toBeUndefined();
});
