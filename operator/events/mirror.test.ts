import { expect, test } from "vitest";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { createStore } from "../../shared/kube/store.ts";
import type { Caches } from "../caches.ts";
import {
  type CapiCluster,
  indexByInfrastructure,
  type Machine,
  type MachineDeployment,
} from "../capi/kinds.ts";
import { INDEX_INFRASTRUCTURE, INDEX_NAMESPACE } from "../indexes.ts";
import { CLUSTER_ID, makePool, NAMESPACE, POOL_ID } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { findSubject, mayBeMirrored, mirrorEvent, trimEvent } from "./mirror.ts";

const API = "cluster.x-k8s.io/v1beta2";
const byNamespace = {
  [INDEX_NAMESPACE]: (it: { metadata: { namespace?: string } }) => [it.metadata.namespace ?? ""],
};

/** Caches with the clusters `demo` and `demo-web`, the pool `web` of the first, and one labelled machine of it. */
function makeCaches(): Caches {
  const clusters = createStore(byNamespace);
  const { cluster } = aCluster().observed;
  const identified = { ...cluster.metadata, labels: { [LABEL_ID]: CLUSTER_ID } };
  clusters.set({ ...cluster, metadata: identified });
  clusters.set({ ...cluster, metadata: { ...identified, name: "demo-web" } });
  const nodePools = createStore(byNamespace);
  nodePools.set(makePool("web"));
  const machines = createStore<Machine>({ [INDEX_INFRASTRUCTURE]: indexByInfrastructure });
  const labels = {
    "cluster.x-k8s.io/cluster-name": "demo",
    "topology.cluster.x-k8s.io/deployment-name": "web",
  };
  machines.set({
    apiVersion: API,
    kind: "Machine",
    metadata: { name: "m1", namespace: NAMESPACE, labels },
    spec: { infrastructureRef: { apiGroup: "hardware.test", kind: "Server", name: "s1" } },
  });
  const machineDeployments = createStore<MachineDeployment>();
  const capiClusters = createStore<CapiCluster>();
  return { clusters, capiClusters, nodePools, machines, machineDeployments } as unknown as Caches;
}

const eventOn = (apiVersion: string, kind: string, name: string, more: Partial<Event> = {}): Event => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "e1", namespace: NAMESPACE, uid: "event-uid", creationTimestamp: "2026-01-01T00:00:00Z" },
  regarding: { apiVersion, kind, namespace: NAMESPACE, name, uid: "object-uid" },
  type: "Normal",
  reason: "SuccessfulCreate",
  note: "it happened",
  ...more,
});

test.each([
  {
    what: "Cluster API's cluster",
    event: eventOn(API, "Cluster", "demo", { reason: "InfrastructureReady" }),
    cluster: "demo",
    pool: undefined,
    source: "operator",
  },
  {
    what: "a machine",
    event: eventOn(API, "Machine", "m1", { reason: "SuccessfulSetNodeRef" }),
    cluster: "demo",
    pool: "web",
    source: "machine",
  },
  {
    what: "an infrastructure machine of any provider",
    event: eventOn("hardware.test/v1", "Server", "s1"),
    cluster: "demo",
    pool: "web",
    source: "hypervisor",
  },
  {
    what: "a machine set, by the longest name that fits",
    event: eventOn(API, "MachineSet", "demo-web-x7k2p"),
    cluster: "demo-web",
    pool: undefined,
    source: "machine",
  },
])("an Event on $what is mirrored to its cluster", ({ event, cluster, pool, source }) => {
  const subject = findSubject(makeCaches(), event);
  expect(subject?.cluster.metadata.name).toBe(cluster);
  expect(subject?.pool?.metadata.name).toBe(pool);
  expect(subject?.source).toBe(source);
});

const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io/v1beta2";
const warning = (reason: string, note = "it failed"): Partial<Event> => ({ type: "Warning", reason, note });

test.each([
  { what: "a machine that is created", event: eventOn(API, "MachineSet", "x"), isMirrored: true },
  {
    what: "a node that has joined",
    event: eventOn(API, "Machine", "x", { reason: "SuccessfulSetNodeRef" }),
    isMirrored: true,
  },
  {
    what: "a control plane that is up",
    event: eventOn(API, "Cluster", "demo", { reason: "ControlPlaneInitialized" }),
    isMirrored: true,
  },
  {
    what: "an unhealthy machine",
    event: eventOn(API, "Machine", "x", { reason: "MachineMarkedUnhealthy" }),
    isMirrored: true,
  },
  {
    what: "the infrastructure of a cluster",
    event: eventOn(INFRASTRUCTURE, "DevCluster", "x", { reason: "NetworkCreated" }),
    isMirrored: true,
  },
  {
    what: "a hypervisor of a provider with an API group of its own",
    event: eventOn("hardware.test/v1", "Server", "s1", { reason: "PoweredOn" }),
    isMirrored: true,
  },
  {
    what: "a failure",
    event: eventOn(API, "MachineDeployment", "x", warning("FailedCreate")),
    isMirrored: true,
  },
  {
    what: "a failure of the control plane",
    event: eventOn(
      "controlplane.cluster.x-k8s.io/v1beta2",
      "KubeadmControlPlane",
      "x",
      warning("ControlPlaneUnhealthy"),
    ),
    isMirrored: true,
  },
  {
    what: "a write that is repeated by itself",
    event: eventOn(
      API,
      "MachineDeployment",
      "x",
      warning("FailedUpdate", "Operation cannot be fulfilled: the object has been modified; please apply"),
    ),
    isMirrored: false,
  },
  {
    what: "an object that the topology made",
    event: eventOn(API, "Cluster", "demo", { reason: "TopologyCreate" }),
    isMirrored: false,
  },
  {
    what: "an object that the topology changed",
    event: eventOn(API, "Cluster", "demo", { reason: "TopologyUpdate" }),
    isMirrored: false,
  },
  {
    what: "a phase of Cluster API's cluster",
    event: eventOn(API, "Cluster", "demo", { reason: "Provisioned" }),
    isMirrored: false,
  },
  { what: "a new machine set", event: eventOn(API, "MachineDeployment", "x"), isMirrored: false },
  {
    what: "a template of an infrastructure",
    event: eventOn(INFRASTRUCTURE, "DevMachineTemplate", "x"),
    isMirrored: false,
  },
  { what: "ours", event: eventOn("cloud.marina.dev/v1", "Cluster", "demo"), isMirrored: false },
  { what: "a Pod", event: eventOn("v1", "Pod", "demo", warning("BackOff")), isMirrored: false },
  { what: "a Deployment", event: eventOn("apps/v1", "Deployment", "demo"), isMirrored: false },
  { what: "an Ingress", event: eventOn("networking.k8s.io/v1", "Ingress", "demo"), isMirrored: false },
])("whether an Event on $what is mirrored, and cached for that: $isMirrored", ({ event, isMirrored }) => {
  expect(mayBeMirrored(event)).toBe(isMirrored);
  expect(trimEvent(event) !== undefined).toBe(isMirrored);
});

test("of the Events on our objects the cache holds the mirrors, which are looked up, and no other", () => {
  const ours = eventOn("cloud.marina.dev/v1", "Cluster", "demo");
  const related = { apiVersion: API, kind: "Machine", namespace: NAMESPACE, name: "m1" };
  expect(trimEvent(ours)).toBeUndefined();
  expect(trimEvent({ ...ours, related })).toMatchObject({ reason: ours.reason });
});

test("an Event of an unknown cluster has no subject", () => {
  expect(findSubject(makeCaches(), eventOn(API, "MachineSet", "other-x"))).toBeUndefined();
});

test.each([
  ["MachineSet", "demo-web-x7k2p", "Created Machine m1", "Cluster demo-web: Created Machine m1"],
  ["Machine", "m1", "Machine m1: no capacity", "Machine m1: no capacity"],
  ["Machine", "m1", 'MachineSet "demo-web-x7k2p" deleted it', "Machine m1: node pool deleted it"],
])("an Event on the %s %s with the note %j says to tenants %j", (kind, name, note, words) => {
  const event = eventOn(API, kind, name, { type: "Warning", note });
  const subject = findSubject(makeCaches(), event);
  expect(subject && mirrorEvent(event, subject)?.note).toBe(words);
});

test.each([
  [
    "Cluster",
    "demo",
    "ControlPlaneInitialized",
    "Cluster demo ControlPlaneInitialized is now True",
    "Cluster demo: its first control plane machine serves the Kubernetes API",
  ],
  ["Machine", "m1", "SuccessfulSetNodeRef", "m1", "Machine m1: it has joined the cluster as a node"],
  [
    "Machine",
    "m1",
    "MachineMarkedUnhealthy",
    "Machine org-1/m1 by x",
    "Machine m1: a health check has marked it as unhealthy",
  ],
  ["Machine", "m1", "constructor", "it is odd", undefined],
])("a normal Event on the %s %s for %s, %j, says to tenants %j", (kind, name, reason, note, words) => {
  const event = eventOn(API, kind, name, { reason, note });
  const subject = findSubject(makeCaches(), event);
  expect(subject && mirrorEvent(event, subject)?.note).toBe(words);
});

test.each([
  ["events.k8s.io/v1", { series: { count: 3, lastObservedTime: "2026-01-01T00:05:00.000000Z" } }],
  ["the core API", { deprecatedCount: 3, deprecatedLastTimestamp: "2026-01-01T00:05:00Z" }],
])("a counted Event of %s is mirrored with its first and its last time", (_, counted) => {
  const event = eventOn(INFRASTRUCTURE, "Server", "s1", counted);
  const subject = { ...findSubject(makeCaches(), eventOn(API, "Machine", "m1", { type: "Warning" })) };
  if (subject.cluster === undefined || subject.source === undefined) throw new Error("there is no subject");
  const { cluster, pool, source } = subject;
  expect(mirrorEvent(event, { cluster, pool, source })).toMatchObject({
    at: new Date("2026-01-01T00:00:00Z"),
    lastAt: new Date("2026-01-01T00:05:00Z"),
    count: 3,
  });
});

test.each([
  ["Cluster", "InfrastructureReady", "Normal", 1],
  ["Cluster", "Failed", "Warning", 2],
  ["Machine", "SuccessfulDrainNode", "Normal", 1],
])(
  "Cluster API's %s, %s, a %s that it has written twice, is mirrored with the count %i",
  (kind, reason, type, count) => {
    const name = kind === "Machine" ? "m1" : "demo";
    const event = eventOn(API, kind, name, { reason, type, deprecatedCount: 2 });
    const subject = findSubject(makeCaches(), event);
    expect(subject && mirrorEvent(event, subject)?.count).toBe(count);
  },
);

test.each([
  [
    "Cluster demo InfrastructureProvisioned is now True",
    "Cluster Shop InfrastructureProvisioned is now True",
  ],
  ['"demo" is demo-web, not demo', 'Cluster Shop: "Shop" is demo-web, not demo'],
  ['cluster "demo" waits', 'Cluster Shop: cluster "Shop" waits'],
  ["Cluster DEMO cannot be reached", "Cluster Shop: Cluster DEMO cannot be reached"],
  ['zone "demo" is full', 'Cluster Shop: zone "demo" is full'],
])("the note %j of a cluster demo that its owner calls Shop says %j", (note, words) => {
  const event = eventOn(API, "Cluster", "demo", { type: "Warning", note });
  const subject = findSubject(makeCaches(), event);
  if (subject === undefined) throw new Error("there is no subject");
  const { cluster } = subject;
  const named = { ...cluster, spec: { ...cluster.spec, displayName: "Shop" } };
  expect(mirrorEvent(event, { ...subject, cluster: named })?.note).toBe(words);
});

test("a mirrored Event keeps note and action, has our labels, and has one name for all repeats, which of a Machine are not counted", () => {
  const event = eventOn(API, "Machine", "m1", { type: "Warning", deprecatedCount: 3 });
  const subject = findSubject(makeCaches(), event);
  expect(subject && mirrorEvent(event, subject)).toEqual({
    regarding: {
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      namespace: NAMESPACE,
      name: "demo",
      uid: "uid-demo",
    },
    related: { apiVersion: API, kind: "Machine", namespace: NAMESPACE, name: "m1", uid: "object-uid" },
    type: "Warning",
    reason: "SuccessfulCreate",
    action: "Create",
    note: "Machine m1: it happened",
    labels: { [LABEL_CLUSTER_ID]: CLUSTER_ID, [LABEL_NODE_POOL_ID]: POOL_ID, [LABEL_SOURCE]: "machine" },
    dedupeKey: "mirror/event-uid",
    at: new Date("2026-01-01T00:00:00Z"),
    count: 1,
  });
});
