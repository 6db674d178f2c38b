import { expect, test } from "vitest";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { createStore } from "../../shared/kube/store.ts";
import type { Caches } from "../caches.ts";
import { indexByInfrastructure, type Machine, type MachineDeployment } from "../engine/kinds.ts";
import { INDEX_INFRASTRUCTURE, INDEX_NAMESPACE } from "../indexes.ts";
import { CLUSTER_ID, makePool, NAMESPACE, POOL_ID } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { mirrorEvent } from "./mirror.ts";
import { findSubject, mayConcernClusterAPI } from "./subject.ts";

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
  return { clusters, nodePools, machines, machineDeployments } as unknown as Caches;
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
    event: eventOn(API, "Cluster", "demo"),
    cluster: "demo",
    pool: undefined,
    source: "operator",
  },
  {
    what: "a machine",
    event: eventOn(API, "Machine", "m1"),
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

test.each([
  { what: "ours", event: eventOn("cloud.marina.dev/v1", "Cluster", "demo"), concerns: false },
  { what: "a Pod", event: eventOn("v1", "Pod", "demo"), concerns: false },
  { what: "a Deployment", event: eventOn("apps/v1", "Deployment", "demo"), concerns: false },
  { what: "an Ingress", event: eventOn("networking.k8s.io/v1", "Ingress", "demo"), concerns: false },
  { what: "Cluster API's", event: eventOn(API, "Cluster", "demo"), concerns: true },
  {
    what: "a provider's",
    event: eventOn("infrastructure.cluster.x-k8s.io/v1beta2", "X", "x"),
    concerns: true,
  },
])("whether an Event on $what may concern Cluster API: $concerns", ({ event, concerns }) => {
  expect(mayConcernClusterAPI(event)).toBe(concerns);
});

test("an Event of an unknown cluster has no subject", () => {
  expect(findSubject(makeCaches(), eventOn(API, "MachineSet", "other-x"))).toBeUndefined();
});

test("a mirrored Event keeps note and action, has our labels, and has one name for all repeats", () => {
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
    count: 3,
  });
});
