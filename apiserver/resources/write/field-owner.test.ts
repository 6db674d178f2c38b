import { expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../../../shared/kube/kind.ts";
import { findApplyOwner } from "./kube-write.ts";

const fieldsV1 = {
  "f:spec": { "f:desiredNodes": {}, "f:nodeLabels": { "f:team": {} }, "f:network": { "f:cidrs": {} } },
};
const entry = (change: Partial<ManagedFieldsEntry>): ManagedFieldsEntry => ({
  manager: "argocd",
  operation: "Apply",
  fieldsV1,
  ...change,
});

test.each<[string, ManagedFieldsEntry[] | undefined, string, string | undefined]>([
  ["an Apply of another manager owns its fields", [entry({})], "desiredNodes", "argocd"],
  ["a map with one applied key is owned", [entry({})], "nodeLabels", "argocd"],
  ["a field inside a map is owned by itself", [entry({})], "network.cidrs", "argocd"],
  ["and not by its neighbour", [entry({})], "network.limit", undefined],
  ["a field without an Apply entry has no owner", [entry({})], "maxNodes", undefined],
  ["an Update owns nothing", [entry({ operation: "Update" })], "desiredNodes", undefined],
  ["our own Apply is no obstacle", [entry({ manager: "self" })], "desiredNodes", undefined],
  ["a subresource is another matter", [entry({ subresource: "status" })], "desiredNodes", undefined],
  ["no managedFields at all", undefined, "desiredNodes", undefined],
])("%s", (_, managedFields, field, owner) => {
  expect(findApplyOwner(managedFields, field, "self")).toBe(owner);
});
