import { describe, expect, test } from "vitest";
import { makeCondition } from "../testing.ts";
import { readCapiCluster } from "./cluster-state.ts";
import type { CapiCluster } from "./kinds.ts";

const converged: CapiCluster = {
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "Cluster",
  metadata: { name: "demo", namespace: "org-1", generation: 4 },
  spec: {
    controlPlaneEndpoint: { host: "10.0.0.1", port: 6443 },
    topology: { classRef: { name: "standard-v1", namespace: "marina-system" }, version: "v1.34.2" },
  },
  status: {
    observedGeneration: 4,
    conditions: [
      makeCondition("TopologyReconciled", "True", { observedGeneration: 4 }),
      makeCondition("RollingOut", "False"),
      makeCondition("ControlPlaneInitialized", "True"),
    ],
    controlPlane: { versions: [{ version: "v1.34.2" }] },
    workers: { versions: [{ version: "v1.34.2" }] },
  },
};

const statusWith = (...conditions: ReturnType<typeof makeCondition>[]) => {
  const reported = conditions.map((condition) => condition.type);
  const kept = (converged.status?.conditions ?? []).filter((condition) => !reported.includes(condition.type));
  return { ...converged.status, conditions: [...kept, ...conditions] };
};

test("a rollout has converged when every indicator agrees", () => {
  expect(readCapiCluster(converged).converged).toBe(true);
});

test.each<{ what: string; status: CapiCluster["status"] }>([
  {
    what: "Cluster API has not observed the latest generation",
    status: { ...converged.status, observedGeneration: 3 },
  },
  {
    what: "the topology was reconciled for an older object",
    status: statusWith(makeCondition("TopologyReconciled", "True", { observedGeneration: 3 })),
  },
  {
    what: "the topology is not reconciled",
    status: statusWith(makeCondition("TopologyReconciled", "False")),
  },
  { what: "machines roll out", status: statusWith(makeCondition("RollingOut", "True")) },
  { what: "the rollout state is unknown", status: statusWith(makeCondition("RollingOut", "Unknown")) },
  {
    what: "versions are still planned",
    status: { ...converged.status, controlPlane: { upgradePlan: [{}] } },
  },
  {
    what: "the control plane has never been up",
    status: { ...statusWith(makeCondition("ControlPlaneInitialized", "False")), controlPlane: {} },
  },
  {
    what: "a control plane that reports no versions has not reached the topology's",
    status: {
      ...statusWith(makeCondition("TopologyReconciled", "False", { reason: "ClusterUpgrading" })),
      controlPlane: {},
    },
  },
  {
    what: "some workers run another version",
    status: { ...converged.status, workers: { versions: [{ version: "v1.34.2" }, { version: "v1.33.6" }] } },
  },
])("it has not converged while $what", ({ status }) => {
  expect(readCapiCluster({ ...converged, ...(status && { status }) }).converged).toBe(false);
});

test("workers without nodes report no version and block nothing", () => {
  const { workers: _, ...status } = converged.status ?? {};
  expect(readCapiCluster({ ...converged, status }).converged).toBe(true);
});

describe("a control plane that reports status.version alone", () => {
  const { controlPlane: _, workers: __, ...status } = converged.status ?? {};
  const workers = { versions: [{ version: "v1.34.2" }] };
  const upgrading = statusWith(makeCondition("TopologyReconciled", "False", { reason: "ClusterUpgrading" }));
  const old = { versions: [{ version: "v1.33.6" }] };
  const mixed = { versions: [{ version: "v1.33.6" }, { version: "v1.34.2" }] };

  test.each([
    ["with its workers, has converged", { ...status, workers }, true, ["1.34.2"]],
    ["without workers, has converged", status, true, ["1.34.2"]],
    ["is not known to run it while it upgrades", { ...upgrading, controlPlane: {}, workers: old }, false, []],
    [
      "runs it as soon as one of the workers does",
      { ...upgrading, controlPlane: {}, workers: mixed },
      false,
      ["1.34.2"],
    ],
    ["has not converged while a worker is behind", { ...status, workers: old }, false, []],
  ])("%s", (_name, status, isConverged, versions) => {
    const state = readCapiCluster({ ...converged, status });
    expect([state.converged, state.controlPlaneVersions]).toEqual([isConverged, versions]);
  });
});

test.each([
  { endpoint: { host: "10.0.0.1", port: 6443 }, url: "https://10.0.0.1:6443" },
  { endpoint: { host: "fd00::1", port: 6443 }, url: "https://[fd00::1]:6443" },
  { endpoint: { host: "", port: 0 }, url: undefined },
  { endpoint: { host: "10.0.0.1" }, url: undefined },
])("the endpoint $endpoint is $url", ({ endpoint, url }) => {
  const cluster = { ...converged, spec: { ...converged.spec, controlPlaneEndpoint: endpoint } };
  expect(readCapiCluster(cluster).endpoint?.url).toBe(url);
});

test.each([
  { message: "spec.topology.variables: Invalid value", rejected: true },
  {
    message:
      'failed to create DevCluster: Internal error: failed calling webhook "x": connect: connection refused',
    rejected: false,
  },
  ...[
    "context deadline exceeded",
    "etcdserver: request timed out",
    "client rate limiter Wait returned an error: context canceled",
    "unexpected EOF",
    "net/http: TLS handshake timeout",
    "read tcp 10.0.0.1:443: i/o timeout",
    "read tcp 10.0.0.1:443: read: connection reset by peer",
    "the server is currently unable to handle the request",
    "Operation cannot be fulfilled on clusters: the object has been modified",
  ].map((error) => ({ message: `error reading the class: ${error}`, rejected: false })),
])("a reconcile that failed with $message is a rejection: $rejected", ({ message, rejected }) => {
  const status = statusWith(
    makeCondition("TopologyReconciled", "False", { reason: "ReconcileFailed", message }),
  );
  const state = readCapiCluster({ ...converged, status });
  expect(state.reconcileFailure?.message).toBe(rejected ? message : undefined);
  expect(state.blockingCondition?.message).toBe(message);
});
