import { join } from "node:path";
import { expect, test } from "vitest";
import { findCrdBreaks, readManifests } from "./compatibility.ts";

const CRDS = join(import.meta.dirname, "..", "..", "crds");
const manifests = () => readManifests(CRDS);

// The tests edit manifests of every shape.
// biome-ignore lint/suspicious/noExplicitAny: a manifest is whatever YAML holds.
type Manifest = any;

const find = (all: Manifest[], name: string): Manifest => all.find((one) => one.metadata.name === name);
const POOLS = "nodepools.cloud.marina.dev";
const versionOf = (all: Manifest[]): Manifest => find(all, POOLS).spec.versions[0];
const specOf = (all: Manifest[]): Manifest => versionOf(all).schema.openAPIV3Schema.properties.spec;
const statusOf = (all: Manifest[]): Manifest => versionOf(all).schema.openAPIV3Schema.properties.status;

test("unchanged definitions have no break", () => {
  expect(findCrdBreaks(manifests(), manifests())).toEqual([]);
});

test.each<[string, (all: Manifest[]) => void, string]>([
  [
    "a removed field",
    (all) => delete specOf(all).properties.nodeLabels,
    ".spec.nodeLabels: the field was removed",
  ],
  [
    "a stricter bound",
    (all) => (specOf(all).properties.vcpus.maximum = 64),
    ".spec.vcpus: maximum was 128, now 64",
  ],
  ["a field that is required now", (all) => specOf(all).required.push("nodeLabels"), "required now"],
  [
    "a new rule",
    (all) => specOf(all)["x-kubernetes-validations"].push({ rule: "self.vcpus > 1" }),
    ".spec: a new rule: self.vcpus > 1",
  ],
  [
    "a field of another type",
    (all) => (specOf(all).properties.desiredNodes.type = "string"),
    ".spec.desiredNodes: the type was integer, now string",
  ],
  [
    "a removed status field",
    (all) => delete statusOf(all).properties.version,
    "status.version: the field was removed",
  ],
  [
    "a version that is no longer served",
    (all) => (versionOf(all).served = false),
    "v1: it is no longer served",
  ],
  [
    "a removed short name",
    (all) => (find(all, POOLS).spec.names.shortNames = []),
    "the short name mnp was removed",
  ],
  [
    "a removed subresource",
    (all) => delete versionOf(all).subresources.scale,
    "the subresource scale was removed",
  ],
  ["a removed kind", (all) => all.splice(all.indexOf(find(all, POOLS)), 1), "it was removed"],
  [
    "a new rule of the admission policy",
    (all) =>
      all
        .find((one) => one.kind === "ValidatingAdmissionPolicy")
        .spec.validations.push({ expression: "false" }),
    "a new rule: false",
  ],
  [
    "a new rule for Marina's own programs",
    (all) => find(all, "programs.cloud.marina.dev").spec.validations.push({ expression: "false" }),
    "a new rule: false",
  ],
  [
    "another account of a program",
    (all) => {
      const [condition] = find(all, "reserved.cloud.marina.dev").spec.matchConditions;
      condition.expression = condition.expression.replace("marina-operator", "marina-controller");
    },
    "it no longer excepts system:serviceaccount:marina-system:marina-operator",
  ],
  [
    "a policy that holds for Marina's programs, too",
    (all) => delete find(all, "reserved.cloud.marina.dev").spec.matchConditions,
    "it no longer excepts system:serviceaccount:marina-system:marina-apiserver",
  ],
])("%s is a break", (_, change, expected) => {
  const changed = manifests();
  change(changed);
  expect(findCrdBreaks(manifests(), changed).join("\n")).toContain(expected);
});

test.each<[string, (all: Manifest[]) => void]>([
  ["a new optional field", (all) => (specOf(all).properties.motto = { type: "string" })],
  ["a wider bound", (all) => (specOf(all).properties.vcpus.maximum = 256)],
  ["another description", (all) => (specOf(all).description = "A pool.")],
  [
    "a new rule for others than Marina's programs",
    (all) => find(all, "reserved.cloud.marina.dev").spec.validations.push({ expression: "false" }),
  ],
])("%s is not a break", (_, change) => {
  const changed = manifests();
  change(changed);
  expect(findCrdBreaks(manifests(), changed)).toEqual([]);
});
