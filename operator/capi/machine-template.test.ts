import { describe, expect, test } from "vitest";
import {
  type CapiMachineTemplate,
  LABEL_CAPI_POOL,
  MACHINE_FINALIZER,
  type Machine,
  type MachineDeployment,
  type MachineSet,
} from "./kinds.ts";
import { isOfOtherTemplate, readMachine } from "./pool-state.ts";
import { trimMachine, trimMachineDeployment, trimMachineSet } from "./trim.ts";

const API_VERSION = "cluster.x-k8s.io/v1beta2";
const refer = (kind: string, name: string) => ({ apiGroup: "example.com", kind, name });
const TEMPLATE = {
  version: "v1.34.2",
  infrastructureRef: refer("DevMachineTemplate", "small"),
  bootstrap: { configRef: refer("KubeadmConfigTemplate", "plain") },
  deletion: { nodeDrainTimeoutSeconds: 60 },
};
type Template = CapiMachineTemplate & { deletion?: object };

function makeSet(uid: string, creationTimestamp = "2026-01-01T00:00:00Z"): MachineSet {
  return {
    apiVersion: API_VERSION,
    kind: "MachineSet",
    metadata: { name: uid, namespace: "org", uid, creationTimestamp },
    spec: { template: { spec: TEMPLATE } },
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

const OLD = makeSet("old");
const NEW = makeSet("new", "2026-01-01T00:01:00Z");
const other: Template = { ...TEMPLATE, infrastructureRef: refer("DevMachineTemplate", "large") };

describe("a machine is of another template than its MachineDeployment", () => {
  test.each<[string, boolean | undefined, Template, string | undefined]>([
    ["with another infrastructure template", true, other, "old"],
    [
      "with another bootstrap template",
      true,
      { ...TEMPLATE, bootstrap: { configRef: refer("KubeadmConfigTemplate", "other") } },
      "old",
    ],
    ["with another version", true, { ...TEMPLATE, version: "v1.35.1" }, "old"],
    ["with another failure domain", true, { ...TEMPLATE, failureDomain: "b" }, "old"],
    ["perhaps, while its MachineSet is not seen yet", undefined, TEMPLATE, "unseen"],
    [
      "perhaps, when its MachineSet is newer than the MachineDeployment that is seen",
      undefined,
      other,
      "new",
    ],
    ["not with the same one", false, TEMPLATE, "old"],
    [
      "not with what changes in place",
      false,
      { ...TEMPLATE, deletion: { nodeDrainTimeoutSeconds: 9 } },
      "old",
    ],
    ["not without a MachineSet", false, other, undefined],
  ])("%s", (_name, expected, desired, owner) => {
    const [machine, machineDeployment] = [makeMachineOf(owner), makeDeployment(desired)];
    expect(isOfOtherTemplate(machine, machineDeployment, [OLD, NEW])).toBe(expected);
    const trimmed = [OLD, NEW].map(trimMachineSet);
    expect(isOfOtherTemplate(trimMachine(machine), trimMachineDeployment(machineDeployment), trimmed)).toBe(
      expected,
    );
  });

  test("not while there is no MachineDeployment", () => {
    expect(isOfOtherTemplate(makeMachineOf("old"), undefined, [OLD])).toBe(false);
  });
});

test.each([
  ["DrainingNode", "drain", [MACHINE_FINALIZER, "example.com/holds"]],
  ["WaitingForVolumeDetach", "volumes", [MACHINE_FINALIZER]],
  ["WaitingForInfrastructureDeletion", "infrastructure", [MACHINE_FINALIZER]],
  ["DeletionCompleted", "infrastructure", [MACHINE_FINALIZER]],
  ["DeletionCompleted", "other", ["example.com/holds"]],
  ["WaitingForPreTerminateHook", "other", [MACHINE_FINALIZER]],
])(
  "a machine that says %s of its deletion is at the stage %s, with the finalizers %j",
  (reason, stage, finalizers) => {
    const deleting = { type: "Deleting", status: "True", reason, lastTransitionTime: "" } as const;
    const { metadata, ...rest } = makeMachineOf("set");
    const labels = { [LABEL_CAPI_POOL]: "web" };
    const going = { ...metadata, labels, finalizers, deletionTimestamp: "2026-01-02T00:00:00Z" };
    const machine: Machine = { ...rest, metadata: going, status: { conditions: [deleting] } };
    expect(readMachine(trimMachine(machine), false).deletion?.stage).toBe(stage);
  },
);
