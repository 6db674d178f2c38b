import { expect, test } from "vitest";
import type { KubeObject, OwnerReference } from "../../shared/kube/kind.ts";
import { decideOrphans, type WorkerObjects } from "./decide.ts";

const DELETED = "2026-05-01T12:00:00Z";
const SET_FINALIZERS = ["cluster.x-k8s.io/machineset", "machineset.topology.cluster.x-k8s.io"];

function ownedBy(kind: string, uid: string): OwnerReference[] {
  return [{ apiVersion: "cluster.x-k8s.io/v1beta2", kind, name: uid, uid, controller: true }];
}

function object(name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { apiVersion: "", kind: "", metadata: { namespace: "org", name, uid: name, ...metadata } };
}

const LABELS = { "cluster.x-k8s.io/deployment-name": "deployment" };
const deployment = object("deployment");
const set = object("set", { ownerReferences: ownedBy("MachineDeployment", "deployment"), labels: LABELS });
const machine = object("machine", { ownerReferences: ownedBy("MachineSet", "set") });
const controlPlane = [
  {
    ...ownedBy("KubeadmControlPlane", "control-plane")[0],
    apiVersion: "controlplane.cluster.x-k8s.io/v1beta2",
  },
] as OwnerReference[];
const deletingMachine = object("machine", {
  deletionTimestamp: DELETED,
  ownerReferences: [
    { apiVersion: "v1", kind: "Other", name: "other", uid: "other" },
    ...ownedBy("MachineSet", "set"),
  ],
});
const inDeletion = { deletionTimestamp: DELETED, finalizers: ["example.com/holds", ...SET_FINALIZERS] };
const deletingSet = object("set", { ...set.metadata, ...inDeletion });
const detachedSet = object("set", { ...deletingSet.metadata, labels: {} });
const deletingDeployment = object("deployment", {
  deletionTimestamp: DELETED,
  finalizers: ["example.com/holds", "cluster.x-k8s.io/machinedeployment"],
});
const LABEL = "/metadata/labels/cluster.x-k8s.io~1deployment-name";
const withoutCluster = { hasCapiCluster: false };

const rows: [string, Partial<WorkerObjects>, string[]][] = [
  [
    "nothing of a complete pool",
    { machines: [machine], machineSets: [set], machineDeployments: [deployment] },
    [],
  ],
  [
    "nothing of a pool whose deletion Cluster API continues",
    { machines: [machine], machineSets: [deletingSet], machineDeployments: [deletingDeployment] },
    [],
  ],
  ["a MachineSet without a MachineDeployment", { machines: [machine], machineSets: [set] }, ["delete set"]],
  [
    "then its label, so that Cluster API continues",
    { machines: [machine], machineSets: [deletingSet] },
    [`set ${LABEL}`],
  ],
  [
    "also when another MachineDeployment has its name",
    { machineSets: [deletingSet], machineDeployments: [object("deployment", { uid: "new" })] },
    [`set ${LABEL}`],
  ],
  [
    "nothing of a Machine being deleted whose MachineSet exists",
    { machines: [deletingMachine], machineSets: [set], machineDeployments: [deployment] },
    [],
  ],
  [
    "of a Machine being deleted without its MachineSet, the reference to it",
    { machines: [deletingMachine], machineDeployments: [deployment] },
    ["machine /metadata/ownerReferences/1"],
  ],
  ["not a Machine that is not being deleted", { machines: [machine], machineDeployments: [deployment] }, []],
  [
    "not a Machine of a control plane",
    { machines: [object("machine", { ...deletingMachine.metadata, ownerReferences: controlPlane })] },
    [],
  ],
  ["and nothing more", { machines: [machine], machineSets: [detachedSet] }, []],
  ["not a MachineSet that stands alone", { machineSets: [object("set")] }, []],
  [
    "without the Cluster, no MachineSet that has Machines",
    { ...withoutCluster, machines: [machine], machineSets: [deletingSet] },
    [],
  ],
  ["without the Cluster, a MachineSet", { ...withoutCluster, machineSets: [set] }, ["delete set"]],
  [
    "without the Cluster, a finalizer of Cluster API",
    { ...withoutCluster, machineSets: [deletingSet] },
    ["set /metadata/finalizers/1"],
  ],
  [
    "without the Cluster, a MachineDeployment",
    { ...withoutCluster, machineDeployments: [deployment] },
    ["delete deployment"],
  ],
  [
    "its finalizers, and not that of somebody else",
    { ...withoutCluster, machineDeployments: [deletingDeployment] },
    ["deployment /metadata/finalizers/1"],
  ],
  [
    "no finalizer of somebody else",
    {
      ...withoutCluster,
      machineDeployments: [
        object("deployment", { deletionTimestamp: DELETED, finalizers: ["example.com/holds"] }),
      ],
    },
    [],
  ],
  [
    "no MachineDeployment while it has a MachineSet",
    { ...withoutCluster, machineSets: [set], machineDeployments: [deletingDeployment] },
    [],
  ],
];

test.each(rows)("of what a deletion left behind the operator removes: %s", (_name, objects, expected) => {
  const { remove } = decideOrphans({
    machines: [],
    machineSets: [],
    machineDeployments: [],
    hasCapiCluster: true,
    ...objects,
  });
  const steps = remove.map((step) => {
    if (step.verb === "delete") return `delete ${step.name}`;
    if (step.verb !== "patch") return step.verb;
    expect(step.operations[0]).toMatchObject({ op: "test", path: "/metadata/uid" });
    return `${step.name} ${step.operations.at(-1)?.path}`;
  });
  expect(steps).toEqual(expected);
});
