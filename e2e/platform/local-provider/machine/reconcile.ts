import { apiVersionOf } from "../../../../shared/kube/kind.ts";
import type { CapiMachine, TenantNode } from "../capi-kinds.ts";
import { type Decision, decide, isDeleting, nextStatus, readyCondition } from "../decision.ts";
import { type LocalMachine, localMachineKind } from "../kinds.ts";

export interface ObservedMachine {
  object: LocalMachine;
  /** The Machine that Cluster API set as its owner. */
  machine: CapiMachine | undefined;
  /** Whether the tenant's API responds and has a Node of this name; read while the machine has no provider ID. */
  node: { reachable: boolean; registered: boolean };
  now: Date;
}

export type MachineEffect = { do: "register"; node: TenantNode };

type Status = NonNullable<LocalMachine["status"]>;

const UNREACHABLE_MS = 1000;
const DEFAULT_SIZE = { vcpus: 2, memoryGB: 4, diskGB: 20 };
const PODS_PER_NODE = "110";

/**
 * A worker. "Starting the machine" is registering its Node, whose kubelet kwok simulates. Deletion needs no step:
 * Cluster API has drained the Node and deletes it after the machine.
 */
export function reconcileMachine(observed: ObservedMachine): Decision<Status, MachineEffect> {
  const { object, machine, node } = observed;
  if (isDeleting(object) || machine?.spec?.bootstrap?.dataSecretName === undefined) return decide();
  if (object.spec.providerID === undefined) {
    if (!node.reachable) return decide({ requeueAfterMs: UNREACHABLE_MS });
    const effects: MachineEffect[] = node.registered
      ? []
      : [{ do: "register", node: describeNode(object, machine) }];
    return decide({ write: [chooseProviderId(object)] }, effects);
  }
  const fields = {
    initialization: { provisioned: true },
    addresses: [
      { type: "Hostname", address: object.metadata.name },
      { type: "InternalIP", address: "127.0.0.1" },
    ],
  };
  const status = nextStatus<Status>(object, fields, [readyCondition("Running")], observed.now);
  return decide({ status });
}

function providerIdOf({ metadata }: LocalMachine): string {
  return `local://${metadata.namespace}/${metadata.name}`;
}

function chooseProviderId(machine: LocalMachine) {
  const { name, namespace } = machine.metadata;
  const object = {
    apiVersion: apiVersionOf(localMachineKind),
    kind: localMachineKind.kind,
    metadata: { name, ...(namespace && { namespace }) },
    spec: { providerID: providerIdOf(machine) },
  };
  return { verb: "apply" as const, kind: localMachineKind, object };
}

/** The Node as a kubelet would register it. All of its capacity is allocatable. */
export function describeNode(object: LocalMachine, machine: CapiMachine): TenantNode {
  const { name } = object.metadata;
  const { vcpus, memoryGB, diskGB } = { ...DEFAULT_SIZE, ...object.spec };
  const capacity = {
    cpu: String(vcpus),
    memory: `${memoryGB}Gi`,
    "ephemeral-storage": `${diskGB}Gi`,
    pods: PODS_PER_NODE,
  };
  const version = machine.spec?.version ?? "";
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    spec: {
      providerID: providerIdOf(object),
      // Cluster API removes it once the Node has the labels and taints of the Machine; no pod is scheduled before.
      taints: [{ key: "node.cluster.x-k8s.io/uninitialized", effect: "NoSchedule" }],
    },
    status: {
      capacity,
      allocatable: capacity,
      // kwok writes these into YAML unquoted: none may look like a number.
      nodeInfo: {
        architecture: "amd64",
        operatingSystem: "linux",
        osImage: "Marina local node",
        kernelVersion: "simulated",
        containerRuntimeVersion: "kwok://0.8.0",
        kubeletVersion: version,
        kubeProxyVersion: version,
      },
    },
  };
}
