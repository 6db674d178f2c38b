import { expect, test } from "vitest";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { CLUSTER_ID, makePool, NAMESPACE, POOL_ID } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { aCluster } from "../testing-cluster.ts";
import { findSubject, mayBeMirrored, mirrorEvent, trimEvent } from "./mirror.ts";

const API = "cluster.x-k8s.io/v1beta2";

/** Caches with the clusters `demo` and `demo-web`, the pool `web` of the first, and one labelled machine of it. */
function makeCaches(): Caches {
  const caches = createTestCaches();
  const { cluster } = aCluster().observed;
  const identified = { ...cluster.metadata, labels: { [LABEL_ID]: CLUSTER_ID } };
  caches.clusters.set({ ...cluster, metadata: identified });
  caches.clusters.set({ ...cluster, metadata: { ...identified, name: "demo-web" } });
  caches.nodePools.set(makePool("web"));
  const labels = {
    "cluster.x-k8s.io/cluster-name": "demo",
    "topology.cluster.x-k8s.io/deployment-name": "web",
  };
  caches.machines.set({
    apiVersion: API,
    kind: "Machine",
    metadata: { name: "m1", namespace: NAMESPACE, labels },
    spec: { infrastructureRef: { apiGroup: "hardware.test", kind: "Server", name: "s1" } },
  });
  return caches;
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

const reason = (name: string): Partial<Event> => ({ reason: name });
const demo = { cluster: "demo", pool: undefined };
const web = { cluster: "demo", pool: "web" };

test.each<[string, Event, { cluster: string; pool: string | undefined; source: string }]>([
  [
    "Cluster API's cluster",
    eventOn(API, "Cluster", "demo", reason("InfrastructureReady")),
    { ...demo, source: "operator" },
  ],
  ["a machine", eventOn(API, "Machine", "m1", reason("SuccessfulSetNodeRef")), { ...web, source: "machine" }],
  [
    "an infrastructure machine of any provider",
    eventOn("hardware.test/v1", "Server", "s1"),
    { ...web, source: "hypervisor" },
  ],
  [
    "a machine set, by the longest name that fits",
    eventOn(API, "MachineSet", "demo-web-x7k2p"),
    { ...demo, cluster: "demo-web", source: "machine" },
  ],
])("an Event on %s is mirrored to its cluster", (_, event, expected) => {
  const { cluster, pool, source } = findSubject(makeCaches(), event) ?? {};
  expect({ cluster: cluster?.metadata.name, pool: pool?.metadata.name, source }).toEqual(expected);
});

const CONTROL_PLANE = "controlplane.cluster.x-k8s.io/v1beta2";
const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io/v1beta2";
const warning = (reason: string, note = "it failed"): Partial<Event> => ({ type: "Warning", reason, note });

test.each<[string, boolean, Event]>([
  ["a machine that is created", true, eventOn(API, "MachineSet", "x")],
  ["a node that has joined", true, eventOn(API, "Machine", "x", reason("SuccessfulSetNodeRef"))],
  ["a control plane that is up", true, eventOn(API, "Cluster", "demo", reason("ControlPlaneInitialized"))],
  ["an unhealthy machine", true, eventOn(API, "Machine", "x", reason("MachineMarkedUnhealthy"))],
  [
    "the infrastructure of a cluster",
    true,
    eventOn(INFRASTRUCTURE, "DevCluster", "x", reason("NetworkCreated")),
  ],
  [
    "a hypervisor of a provider with an API group of its own",
    true,
    eventOn("hardware.test/v1", "Server", "s1", reason("PoweredOn")),
  ],
  ["a failure", true, eventOn(API, "MachineDeployment", "x", warning("FailedCreate"))],
  [
    "a failure of the control plane",
    true,
    eventOn(CONTROL_PLANE, "KubeadmControlPlane", "x", warning("ControlPlaneUnhealthy")),
  ],
  [
    "a write that is repeated by itself",
    false,
    eventOn(
      API,
      "MachineDeployment",
      "x",
      warning("FailedUpdate", "Operation cannot be fulfilled: the object has been modified; please apply"),
    ),
  ],
  ["an object that the topology made", false, eventOn(API, "Cluster", "demo", reason("TopologyCreate"))],
  ["an object that the topology changed", false, eventOn(API, "Cluster", "demo", reason("TopologyUpdate"))],
  ["a phase of Cluster API's cluster", false, eventOn(API, "Cluster", "demo", reason("Provisioned"))],
  ["a new machine set", false, eventOn(API, "MachineDeployment", "x")],
  ["a template of an infrastructure", false, eventOn(INFRASTRUCTURE, "DevMachineTemplate", "x")],
  ["ours", false, eventOn("cloud.marina.dev/v1", "Cluster", "demo")],
  ["a Pod", false, eventOn("v1", "Pod", "demo", warning("BackOff"))],
  ["a Deployment", false, eventOn("apps/v1", "Deployment", "demo")],
  ["an Ingress", false, eventOn("networking.k8s.io/v1", "Ingress", "demo")],
])("whether an Event on %s is mirrored, and cached for that: %s", (_, isMirrored, event) => {
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
