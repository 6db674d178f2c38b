import { describe, expect, test } from "vitest";
import type { EngineMachineTemplate, Machine, MachineDeployment, MachineSet } from "./kinds.ts";
import { isOfOtherTemplate } from "./machine-template.ts";
import { trimMachine, trimMachineDeployment, trimMachineSet } from "./trim.ts";

const API_VERSION = "cluster.x-k8s.io/v1beta2";
const refer = (kind: string, name: string) => ({ apiGroup: "example.com", kind, name });
const TEMPLATE = {
  version: "v1.34.2",
  infrastructureRef: refer("DevMachineTemplate", "small"),
  bootstrap: { configRef: refer("KubeadmConfigTemplate", "plain") },
  deletion: { nodeDrainTimeoutSeconds: 60 },
};
type Template = EngineMachineTemplate & { deletion?: object };

function makeSet(uid: string, spec: Template = TEMPLATE): MachineSet {
  return {
    apiVersion: API_VERSION,
    kind: "MachineSet",
    metadata: { name: uid, namespace: "org", uid },
    spec: { template: { spec } },
  };
}

function makeDeployment(spec: Template = TEMPLATE): MachineDeployment {
  return {
    apiVersion: API_VERSION,
    kind: "MachineDeployment",
    metadata: { name: "web", namespace: "org", uid: "deployment" },
    spec: { replicas: 1, template: { spec } },
  };
}

function makeMachineOf(uid: string | undefined): Machine {
  const owner = { apiVersion: API_VERSION, kind: "MachineSet", name: "any", uid: uid ?? "" };
  const ownerReferences = uid === undefined ? [] : [owner];
  return {
    apiVersion: API_VERSION,
    kind: "Machine",
    metadata: { name: "web-1", namespace: "org", uid: "machine", ownerReferences },
  };
}

describe("a machine is of another template than its MachineDeployment", () => {
  test.each<[string, boolean | undefined, Template, string | undefined, string[]]>([
    ["with another infrastructure template", true, other("infrastructureRef"), "set", ["set"]],
    [
      "with another bootstrap template",
      true,
      { ...TEMPLATE, bootstrap: { configRef: refer("KubeadmConfigTemplate", "other") } },
      "set",
      ["set"],
    ],
    ["with another version", true, { ...TEMPLATE, version: "v1.35.1" }, "set", ["set"]],
    ["with another failure domain", true, { ...TEMPLATE, failureDomain: "b" }, "set", ["set"]],
    ["perhaps, while its MachineSet is not seen yet", undefined, TEMPLATE, "unseen", ["set"]],
    ["not with the same one", false, TEMPLATE, "set", ["set"]],
    [
      "not with what changes in place",
      false,
      { ...TEMPLATE, deletion: { nodeDrainTimeoutSeconds: 9 } },
      "set",
      ["set"],
    ],
    ["not without a MachineSet", false, other("infrastructureRef"), undefined, ["set"]],
  ])("%s", (_name, expected, desired, owner, sets) => {
    const [machine, deployment] = [makeMachineOf(owner), makeDeployment(desired)];
    const present = sets.map((uid) => makeSet(uid));
    expect(isOfOtherTemplate(machine, deployment, present)).toBe(expected);
    const trimmed = present.map(trimMachineSet);
    expect(isOfOtherTemplate(trimMachine(machine), trimMachineDeployment(deployment), trimmed)).toBe(
      expected,
    );
  });

  test("not while there is no MachineDeployment", () => {
    expect(isOfOtherTemplate(makeMachineOf("set"), undefined, [makeSet("set")])).toBe(false);
  });
});

function other(field: "infrastructureRef"): Template {
  return { ...TEMPLATE, [field]: refer("DevMachineTemplate", "large") };
}
