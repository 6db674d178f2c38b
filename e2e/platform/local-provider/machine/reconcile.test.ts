import { expect, test } from "vitest";
import type { LocalMachine } from "../kinds.ts";
import { describeNode, type ObservedMachine, reconcileMachine } from "./reconcile.ts";

const OBJECT: LocalMachine = {
  apiVersion: "local.marina.dev/v1alpha1",
  kind: "LocalMachine",
  metadata: { name: "node-1", namespace: "org", generation: 1 },
  spec: { vcpus: 4, memoryGB: 16, diskGB: 100 },
};

const MACHINE = {
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "Machine",
  metadata: { name: "node-1", namespace: "org" },
  spec: { version: "v1.34.2", bootstrap: { dataSecretName: "node-1" } },
};

function observe(changes: Partial<ObservedMachine> = {}): ObservedMachine {
  const node = { reachable: true, registered: false };
  return { object: OBJECT, machine: MACHINE, node, now: new Date("2026-01-01T00:00:00Z"), ...changes };
}

test.each([
  { name: "without an owner", changes: { machine: undefined } },
  {
    name: "before its start-up data is there",
    changes: { machine: { ...MACHINE, spec: { version: "v1.34.2" } } },
  },
  {
    name: "when it is going",
    changes: {
      object: { ...OBJECT, metadata: { ...OBJECT.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    },
  },
])("nothing is done $name", ({ changes }) => {
  const { effects, plan } = reconcileMachine(observe(changes));
  expect([effects, plan.write, plan.status]).toEqual([[], [], undefined]);
});

test("it waits for the tenant's API", () => {
  const { effects, plan } = reconcileMachine(observe({ node: { reachable: false, registered: false } }));
  expect([effects, plan.write, plan.requeueAfterMs]).toEqual([[], [], 1000]);
});

test("it registers its Node before it says its name to Cluster API", () => {
  const { effects, plan } = reconcileMachine(observe());
  expect(effects).toMatchObject([{ do: "register", node: { metadata: { name: "node-1" } } }]);
  expect(plan.write).toMatchObject([{ object: { spec: { providerID: "local://org/node-1" } } }]);
});

test("a Node that a killed provider registered is not registered again", () => {
  const { effects, plan } = reconcileMachine(observe({ node: { reachable: true, registered: true } }));
  expect(effects).toEqual([]);
  expect(plan.write).toHaveLength(1);
});

test("with its provider ID it is provisioned, and a deleted Node is not recreated", () => {
  const object = { ...OBJECT, spec: { ...OBJECT.spec, providerID: "local://org/node-1" } };
  const { effects, plan } = reconcileMachine(observe({ object }));
  expect(effects).toEqual([]);
  expect(plan.status).toMatchObject({ initialization: { provisioned: true } });
});

test("the size of the machine is what the scheduler may use", () => {
  const { status, spec } = describeNode(OBJECT, MACHINE);
  const size = { cpu: "4", memory: "16Gi", "ephemeral-storage": "100Gi", pods: "110" };
  expect(status).toMatchObject({
    capacity: size,
    allocatable: size,
    nodeInfo: { kubeletVersion: "v1.34.2" },
  });
  expect(spec?.taints).toEqual([{ key: "node.cluster.x-k8s.io/uninitialized", effect: "NoSchedule" }]);
});
