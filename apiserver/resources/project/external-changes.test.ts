import { describe, expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../../../shared/kube/kind.ts";
import { externalWritersOf, findExternalCreation } from "./project.ts";

function anEntry(
  manager: string,
  fields: string[],
  change: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry {
  return {
    manager,
    operation: "Update",
    time: "2026-11-21T09:00:00Z",
    fieldsV1: { "f:spec": { ".": {}, ...Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) } },
    ...change,
  };
}
const later = { time: "2026-11-21T10:00:00Z" };
const spec = { desiredNodes: 2, maxNodes: 5 };

describe("who writes past REST", () => {
  test.each<[string, ManagedFieldsEntry[], string[]]>([
    ["kubectl and GitOps, the latest last", [anEntry("b", ["x"], later), anEntry("a", ["x"])], ["a", "b"]],
    ["kubectl scale too", [anEntry("a", ["x"], { subresource: "scale" })], ["a"]],
    ["not the platform", [anEntry("marina-operator", ["x"]), anEntry("marina-apiserver", ["x"])], []],
    ["not who writes the status", [anEntry("a", ["x"], { subresource: "status" })], []],
    ["not who holds nothing of the spec", [anEntry("a", [], { fieldsV1: { "f:metadata": {} } })], []],
  ])("is %s", (_, managedFields, managers) => {
    expect(externalWritersOf(managedFields).map(({ manager }) => manager)).toEqual(managers);
  });
});

test("a creation outside REST is attributed to its first writer, with the fields that it set", () => {
  const entries = [anEntry("kubectl", ["maxNodes"]), anEntry("kubectl-edit", ["desiredNodes"], later)];
  expect(findExternalCreation({ writers: externalWritersOf(entries), spec })).toEqual({
    manager: "kubectl",
    before: {},
    after: { maxNodes: 5 },
  });
  expect(findExternalCreation({ writers: [], spec })).toBeUndefined();
});
