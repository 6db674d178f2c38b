import { expect, test } from "vitest";
import { NIL_ID } from "../../../shared/program/id.ts";
import { type DeletionRequest, type ExternalDeletion, findDeleters, nameDeleter } from "./find-deleters.ts";

/** A time of the minute in which the object was deleted, in seconds. */
const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21, 9, 0, 0, seconds * 1000));

const deletion: ExternalDeletion = {
  orgId: NIL_ID,
  resource: "clusters",
  name: "shop",
  createdAt: at(-100),
  requestedAt: at(7),
  seenAt: at(9),
  entry: {
    action: "cluster.delete",
    orgId: NIL_ID,
    target: { kind: "cluster", id: NIL_ID },
    after: { last_writer: "kubectl-edit" },
    result: "done",
  },
};
const atOnce = { requestedAt: null };

/** A request of a person from one time to another. */
function by(
  username: string,
  from: number,
  to: number,
  change: Partial<DeletionRequest> = {},
): DeletionRequest {
  const times = { receivedAt: at(from), completedAt: at(to) };
  return {
    orgId: NIL_ID,
    resource: "clusters",
    name: "shop",
    username,
    impersonator: "",
    ...times,
    ...change,
  };
}
const collection = { name: "" };

test.each<[string, Partial<ExternalDeletion>, DeletionRequest[], string[]]>([
  ["none while no request is known", {}, [], []],
  ["whose request was under way in that second", {}, [by("bob", 7.2, 7.3)], ["bob"]],
  ["whose request began before it", {}, [by("bob", 5, 7)], ["bob"]],
  ["whose request ended long after it", {}, [by("bob", 7.9, 30)], ["bob"]],
  ["not whose request had ended before", {}, [by("bob", 5, 6.999)], []],
  ["not who deleted it again", {}, [by("bob", 8, 8.1), by("carol", 30, 31)], []],
  ["the first of two in one second", {}, [by("carol", 7.5, 7.6), by("bob", 7.1, 7.4)], ["bob"]],
  ["both of two at the same time", {}, [by("carol", 7.3, 7.6), by("bob", 7.1, 7.4)], ["carol", "bob"]],
  ["one who has sent it twice", {}, [by("bob", 7.1, 7.4), by("bob", 7.2, 7.4)], ["bob"]],
  ["who deleted all", {}, [by("bob", 6, 8, collection)], ["bob"]],
  ["not who deleted another object", {}, [by("bob", 7, 7.5, { name: "shop2" })], []],
  ["not who deleted one of another kind", {}, [by("bob", 7, 7.5, { resource: "nodepools" })], []],
  ["not who deleted in another organization", {}, [by("bob", 7, 7.5, { orgId: "another" })], []],
  ["of one that was gone at once, who deleted it", atOnce, [by("bob", 7, 7.5)], ["bob"]],
  ["of that, not who deleted an earlier one of the name", atOnce, [by("bob", -102, -101)], []],
  ["of that, not who deletes a later one", atOnce, [by("bob", 20, 21)], []],
  ["of that, all that may have", atOnce, [by("bob", 1, 2), by("carol", 5, 6)], ["bob", "carol"]],
])("the deleter is %s", (_who, change, requests, expected) => {
  const found = findDeleters({ ...deletion, ...change }, requests);
  expect(found.map(({ username }) => username)).toEqual(expected);
});

const as = (username: string, impersonator = "") => ({ username, impersonator });
const noted = { last_writer: "kubectl-edit" };

test.each<[string, Parameters<typeof nameDeleter>[1], string | undefined, object]>([
  ["none", [], undefined, noted],
  ["one", [as("bob")], "bob", noted],
  ["one under another name", [as("bob", "proxy")], "bob", { ...noted, impersonated_by: "proxy" }],
  ["two", [as("carol"), as("bob")], undefined, { ...noted, possible_deleters: ["bob", "carol"] }],
  [
    "many, of whom five are listed",
    ["g", "f", "e", "d", "c", "b", "a"].map((username) => as(username)),
    undefined,
    { ...noted, possible_deleters: ["a", "b", "c", "d", "e"] },
  ],
])("of %s the entry names only the one who is certain", (_who, deleters, username, after) => {
  expect(nameDeleter(deletion, deleters)).toEqual({ username, after });
});
