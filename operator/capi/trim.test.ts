import { expect, test } from "vitest";
import { makeCondition, makePool } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { readCapiCluster } from "./cluster-state.ts";
import {
  type CapiCondition,
  MACHINE_DEPLOYMENT_FINALIZERS,
  type Machine,
  type MachineDeployment,
} from "./kinds.ts";
import { readMachine, readMachineDeployment } from "./pool-state.ts";
import { trimCapiCluster, trimMachine, trimMachineDeployment } from "./trim.ts";

const STATUSES: CapiCondition["status"][] = ["True", "False", "Unknown"];
const CLUSTER_TYPES = [
  "Available",
  "ControlPlaneAvailable",
  "ControlPlaneInitialized",
  "ControlPlaneMachinesReady",
  "Deleting",
  "InfrastructureReady",
  "Paused",
  "RemoteConnectionProbe",
  "RollingOut",
  "TopologyReconciled",
];
const MACHINE_TYPES = [
  "Deleting",
  "BootstrapConfigReady",
  "HealthCheckSucceeded",
  "InfrastructureReady",
  "NodeHealthy",
  "NodeReady",
  "OwnerRemediated",
  "Ready",
  "UpToDate",
];

function conditionsOf(types: string[], status: CapiCondition["status"]): CapiCondition[] {
  return types.map((type) => makeCondition(type, status, { message: `why ${type}`, observedGeneration: 2 }));
}

/** Messages of healthy conditions are not read, so they are made equal. */
function withoutWords(state: object): object {
  return JSON.parse(JSON.stringify(state), (_, value) => {
    const isGood = value?.status === (value?.type === "RollingOut" ? "False" : "True");
    return isGood && !["Deleting"].includes(value.type) ? { type: value.type, status: value.status } : value;
  });
}

test.each(STATUSES)("a trimmed cluster whose conditions are %s reads like the complete one", (status) => {
  const { observed } = aCluster().withPools(makePool("web")).reconciled().capiConverged();
  const object = observed.capi?.object;
  if (object === undefined) throw new Error("the fixture has no Cluster API cluster");
  const whole = {
    ...object,
    status: {
      ...object.status,
      workers: { versions: [{ version: "v1.34.2" }], upgradePlan: [] },
      conditions: conditionsOf(CLUSTER_TYPES, status),
    },
  };
  const read = withoutWords(readCapiCluster(trimCapiCluster(whole)));
  expect(read).toEqual(withoutWords(readCapiCluster(whole)));
  expect(trimCapiCluster(whole).metadata).toEqual(object.metadata);
  expect(trimCapiCluster(whole).spec).toEqual(object.spec);
});

test.each(STATUSES)("a trimmed machine whose conditions are %s reads like the complete one", (status) => {
  const whole: Machine = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Machine",
    metadata: {
      name: "web-1",
      namespace: "org",
      uid: "u",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { "topology.cluster.x-k8s.io/deployment-name": "web" },
    },
    spec: {
      version: "v1.34.2",
      providerID: "p://web-1",
      infrastructureRef: { apiGroup: "g", kind: "DevMachine", name: "web-1" },
    },
    status: {
      phase: "Running",
      nodeRef: { name: "node-1" },
      conditions: conditionsOf(MACHINE_TYPES, status),
    },
  };
  const going = { ...whole, metadata: { ...whole.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" } };
  const joining: Machine = { ...whole, status: { conditions: conditionsOf(MACHINE_TYPES, status) } };
  for (const machine of [whole, going, joining]) {
    expect(readMachine(trimMachine(machine), false)).toEqual(readMachine(machine, false));
  }
  expect(trimMachine(whole).spec?.infrastructureRef).toEqual(whole.spec?.infrastructureRef);
});

test("a trimmed machine deployment reads like the complete one, including its owner", () => {
  const labels = {
    "cluster.x-k8s.io/cluster-name": "demo",
    "topology.cluster.x-k8s.io/deployment-name": "web",
  };
  const whole: MachineDeployment = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "MachineDeployment",
    metadata: {
      name: "web",
      namespace: "org",
      generation: 3,
      labels: { ...labels, other: "dropped" },
      finalizers: ["example.com/other", ...MACHINE_DEPLOYMENT_FINALIZERS],
    },
    spec: { clusterName: "demo", replicas: 2 },
    status: {
      observedGeneration: 3,
      selector: "a=b",
      replicas: 2,
      readyReplicas: 1,
      upToDateReplicas: 2,
      versions: [{ version: "v1.34.2" }],
      conditions: conditionsOf(["Available", "RollingOut", "ScalingUp"], "False"),
    },
  };
  expect(withoutWords(readMachineDeployment(trimMachineDeployment(whole)))).toEqual(
    withoutWords(readMachineDeployment(whole)),
  );
  expect(trimMachineDeployment(whole).metadata.labels).toEqual(labels);
  const [finalizer = ""] = MACHINE_DEPLOYMENT_FINALIZERS;
  const fresh = { ...whole, metadata: { ...whole.metadata, finalizers: [finalizer] } };
  expect([
    readMachineDeployment(trimMachineDeployment(whole)).hasBothFinalizers,
    readMachineDeployment(trimMachineDeployment(fresh)).hasBothFinalizers,
  ]).toEqual([true, false]);
});

test("all machines share one object for each condition that is as it should be", () => {
  const conditionOf = (name: string, status: CapiCondition["status"]) =>
    trimMachine({
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "Machine",
      metadata: { name, namespace: "org", labels: { "topology.cluster.x-k8s.io/deployment-name": "web" } },
      status: { conditions: conditionsOf(["Ready"], status) },
    }).status?.conditions?.[0];
  expect(conditionOf("a", "True")).toBe(conditionOf("b", "True"));
  expect(conditionOf("a", "False")).not.toBe(conditionOf("b", "False"));
});
