import { expect, test } from "vitest";
import { findTenantTextFault } from "../../e2e/contract/seen/message-forms.ts";
import {
  explain,
  explainCause,
  explainRejection,
  toTenantMessage,
  truncateForeignText,
} from "./tenant-messages.ts";

const condition = { type: "Deleting", status: "True", reason: "Draining", lastTransitionTime: "" } as const;

test.each([
  [
    "MachineDeployment demo-web-x7k2p: Scaling up from 0 to 1 replicas",
    "node pool: Scaling up from 0 to 1 replicas",
  ],
  ['MachineSets "demo-web-x7k2p", "demo-db-abcde" are not ready', "node pools are not ready"],
  ["KubeadmControlPlane org-0193a1f2/demo-x7k2p is paused", "control plane is paused"],
  ["Machine org-0193a1f2/demo-web-abc: Drain not completed", "Machine demo-web-abc: Drain not completed"],
  ['Machine "team-a/demo-web-abc" is gone', 'Machine "demo-web-abc" is gone'],
  ["Waiting for no capacity in zone a; finalizers hold it", "Waiting for no capacity in zone a"],
  ["no machine (uid: 7205b06a-a404-49fb-bc96-844d27d421e3) left", "no machine left"],
  ['secrets "demo-ca" not found in namespace "org-0193a1f2"', 'secrets "demo-ca" not found'],
  ["the namespace org-0193a1f2-7c3e is full", "the organization is full"],
  [
    'Operation cannot be fulfilled on machines "x": the object has been modified; please apply your changes to the latest version and try again',
    "",
  ],
  [
    'Operation cannot be fulfilled on localclusters.local.marina.dev "x": uid mismatch: the provided object specified uid, and no existing object was found',
    "",
  ],
  [
    "Node with .status.volumesAttached entries not matching a PersistentVolume: csi^vol-1",
    "attached volumes that are no PersistentVolume: csi^vol-1",
  ],
  [
    "VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: pv-1",
    "VolumeAttachments of a PersistentVolume that does not exist: pv-1",
  ],
  [
    "PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: pv-1",
    "PersistentVolumes without a PersistentVolumeClaim: pv-1",
  ],
  [
    "WorkersAvailable: MachineDeployment demo-web-x7k2p: 0 available replicas, at least 1 required (spec.strategy.rollout.maxUnavailable is 0, spec.replicas is 1)",
    "node pools: node pool: nodes that are available: 0, of 1 at least",
  ],
  [
    "RemoteConnectionProbe: Remote connection not established yet",
    "connection to its API server: Remote connection not established yet",
  ],
  ["LocalMachine status.initialization.provisioned is false", "its infrastructure is not provisioned yet"],
  ["Waiting for status.availableReplicas set", "its nodes are not counted yet"],
  [
    "ControlPlaneInitialized: KubeadmControlPlane status.initialization.controlPlaneInitialized is false",
    "control plane: it is not initialized yet",
  ],
  [
    "NodeHealthy: Waiting for a Node with spec.providerID aws:///a/i-1 to exist",
    "node: its node has not joined yet",
  ],
  [
    "Waiting for Cluster status.initialization.infrastructureProvisioned to be true",
    "Waiting for the network infrastructure of the cluster",
  ],
  ["Waiting for Cluster spec.controlPlaneEndpoint to be set", "Waiting for the API endpoint of the cluster"],
  [
    "Waiting for the first control plane machine to have its status.nodeRef set",
    "Waiting for the first node of the control plane",
  ],
  [
    "EtcdPodHealthy: Waiting for AWSMachine to report spec.providerID",
    "EtcdPodHealthy: Waiting for its machine to be made",
  ],
  [
    "KubeadmControlPlane can't remediate while waiting for a version upgrade to v1.20.1 to be propagated from Cluster.spec.topology",
    "control plane can't remediate while waiting for a version upgrade to v1.20.1 to be propagated from the cluster",
  ],
  [
    "ClusterClass not reconciled. If this condition persists please check ClusterClass status. A ClusterClass is reconciled if.status.observedGeneration == .metadata.generation is true. If this is not the case either ClusterClass reconciliation failed or the ClusterClass is paused",
    "its cluster class is not ready",
  ],
  ["BootstrapConfigReady: Waiting for it", "configuration: Waiting for it"],
  ["AWSCluster org-0193a1f2/demo has no subnet", "infrastructure has no subnet"],
  ["OpenStackMachine demo-web-abc: no flavour", "Machine demo-web-abc: no flavour"],
  [
    'kubeadmcontrolplanes.controlplane.cluster.x-k8s.io "demo-x7k2p" not found',
    "part of the cluster not found",
  ],
  [
    "spec.topology.variables[authorizedCIDRs].value[0]: Too long: may not be more than 43 bytes",
    "authorizedCIDRs[0]: Too long: may not be more than 43 bytes",
  ],
  [
    "spec.topology.workers.machineDeployments[0].variables.overrides[machine].value.vcpus: Invalid value",
    "machine of a node pool.vcpus: Invalid value",
  ],
  [
    "spec.topology.workers.machineDeployments[0].replicas: Required value",
    "node pools: replicas: Required value",
  ],
  [
    "spec.topology.workers.machineDeployments[web-ct89l].variables.overrides[machine].value: Invalid value",
    "machine of a node pool: Invalid value",
  ],
  ["spec.topology.workers.machineDeployments[web-ct89l].replicas: No", "node pools: replicas: No"],
  ["spec.topology.version: Invalid value", "version: Invalid value"],
  ["nodes/proxy is read and/or written", "nodes/proxy is read and/or written"],
])("%j is to tenants %j", (text, words) => {
  expect(toTenantMessage(text)).toBe(words);
  expect(findTenantTextFault(toTenantMessage(text))).toBeUndefined();
});

test("a condition of which nothing concerns tenants is its reason", () => {
  expect(explain({ ...condition, message: "* MachineSet a-b: finalizers left" })).toBe("Draining");
  expect(explain({ ...condition, message: "* Machine a-b: 1 Pod left\n* finalizers left" })).toBe(
    "Machine a-b: 1 Pod left",
  );
});

test("the Pods that a drain waits for are named with their own namespaces", () => {
  const pods = [
    "Pods shop/web-1, web/web-1: deletionTimestamp set, but still not removed from the Node",
    "Pod shop/web-2: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently",
  ];
  const message = ["Drain not completed yet (started at 2026-05-01T12:00:00Z):", ...pods].join("\n* ");
  expect(explain({ ...condition, message })).toMatch(`12:00:00Z): ${pods.join("; ")}`);
});

test("a rejection is explained without the objects of Cluster API", () => {
  const message =
    'admission webhook "x" denied the request: MachineDeployment.cluster.x-k8s.io "demo-web-x7k2p" is forbidden: exceeded quota: none';
  expect(explainRejection(message)).toBe("exceeded quota: none");
});

const MANY = 32_000;
const HOSTILE = [
  "\t",
  " ",
  '"',
  "/",
  "\n",
  "9",
  "a; ",
  "org-",
  'MachineSet "',
  "aConfig ",
  " (spec.strategy.",
  "\u{1f600}",
];

test.each(HOSTILE)(
  "of a text of tenants with many %j no pattern reads more than 4,000 characters",
  (part) => {
    const text = `Pod a/b: ${part.repeat(MANY)} 7205b06a-a404-49fb-bc96`;
    const read = truncateForeignText(text);
    expect(read.length).toBeLessThanOrEqual(4_000);
    expect(read).not.toMatch(/[^\S\n]{2}|\t/);
    expect(truncateForeignText(read)).toBe(read);
    expect(toTenantMessage(text).length).toBeLessThanOrEqual(4_000);
  },
);

test.each(HOSTILE)("what tenants read of a text with many %j has at most 500 characters", (part) => {
  const message = `a ${part.repeat(MANY)}`;
  expect(Array.from(explain({ ...condition, message })).length).toBeLessThanOrEqual(500);
  expect(Array.from(explainRejection(message)).length).toBeLessThanOrEqual(500);
});

test("a text is read whatever white space is between its words", () => {
  expect(toTenantMessage("no machine\t \t(uid: 7205b06a-a404-49fb-bc96-844d27d421e3)\u00a0left")).toBe(
    "no machine left",
  );
});

const VALUE = "spec.topology.workers.machineDeployments[web].variables.overrides[machine].value";

test.each([
  [
    "a rule of the class",
    VALUE,
    'Invalid value: "{\\"vcpus\\":3,\\"memoryGB\\":7}": no machine type has these: on offer are 2 vCPUs with 4 GB',
    "no machine type has these: on offer are 2 vCPUs with 4 GB",
  ],
  [
    "a bound inside the variable",
    `${VALUE}.vcpus`,
    'Invalid value: "{\\"vcpus\\":300}": vcpus in body should be less than or equal to 128',
    "vcpus should be less than or equal to 128",
  ],
  ["something forbidden", "spec.topology.controlPlane", "Forbidden: not now.", "not now"],
  ["a cause without a text", VALUE, "", "it cannot be carried out"],
])("a cause of a refusal says what is wrong, without the value: %s", (_, field, message, expected) => {
  expect(explainCause(field, message)).toBe(expected);
});
