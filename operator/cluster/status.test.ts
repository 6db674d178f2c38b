import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import {
  aCluster,
  aClusterPool,
  aCondition,
  aMachine,
  aPool,
  aPoolState,
  type CapiFacts,
  NOW,
  observeBlue,
  secondsAgo,
} from "./testing.ts";
import { converged, reasonOf, statusAfter, withConditions } from "./testing-status.ts";

describe("a converged cluster", () => {
  test("plans nothing: no step, no status, no event", () => {
    const plan = reconcileCluster(converged(), NOW);
    expect(plan).toMatchObject({ write: [], remove: [], status: undefined, events: [], metadata: undefined });
  });
  test("is Ready, with its version and firstReadyAt", () => {
    const { status } = converged().cluster;
    expect(status).toMatchObject({ phase: "Ready", version: "1.34.2", firstReadyAt: secondsAgo(3600) });
    expect(status?.transitions).toMatchObject([{ sequence: 1, type: "Ready", version: "1.34.2" }]);
    expect(status?.message).toBeUndefined();
  });
});

test("usage that an agent of the platform reports is no part of the status that is written, and causes no write", () => {
  const { cluster, ...observed } = converged();
  const used = { ...cluster, status: { ...cluster.status, usage: { blockStorageGB: 5 } } };
  expect(reconcileCluster({ ...observed, cluster: used }, NOW).status).toBeUndefined();
  const changed = { ...used, metadata: { ...used.metadata, generation: 9 } };
  const { status } = reconcileCluster({ ...observed, cluster: changed }, NOW);
  expect(status).toMatchObject({ observedGeneration: 9 });
  expect(status).not.toHaveProperty("usage");
});

test("the administrators that were found are written when they are others than before, and never otherwise", () => {
  const { cluster, access, ...observed } = converged();
  const before = { count: 1, names: ["ann"], observedAt: secondsAgo(600) };
  const reported = { ...cluster, status: { ...cluster.status, foreignAdmins: before } };
  const write = (found: ObservedCluster["access"]["tenantFindings"]) =>
    reconcileCluster({ ...observed, cluster: reported, access: { ...access, tenantFindings: found } }, NOW)
      .status;
  expect(write({})).toBeUndefined();
  expect(write({ foreignAdmins: { ...before, observedAt: secondsAgo(0) } })).toBeUndefined();
  const none = { count: 0, names: [], observedAt: secondsAgo(0) };
  expect(write({ foreignAdmins: none })).toMatchObject({ foreignAdmins: none });
  expect(write({ credentialsGeneration: 3 })).toMatchObject({ credentialsGeneration: 3 });
});

test("a rotation of the admin credentials is an Event once the earlier ones have no right any more, and once alone", () => {
  const { cluster, access, ...observed } = converged(aCluster({ credentialsGeneration: 3 }));
  const before = { ...cluster.status, credentialsGeneration: 2 };
  const eventsOf = (tenantFindings: ObservedCluster["access"]["tenantFindings"], status: object = before) =>
    reconcileCluster(
      { ...observed, cluster: { ...cluster, status }, access: { ...access, tenantFindings } },
      NOW,
    ).events;
  // The next one is requested: its kubeconfig may be there, and the earlier ones open the cluster still.
  for (const found of [{}, { credentialsGeneration: 2 }]) expect(eventsOf(found)).toEqual([]);
  expect(eventsOf({ credentialsGeneration: 3 })).toMatchObject([
    { type: "Normal", reason: "AdminCredentialsRotated", action: "Update", regarding: { name: "blue" } },
  ]);
  const [first, second] = [3, 4].map((credentialsGeneration) => eventsOf({ credentialsGeneration })[0]);
  expect(first?.dedupeKey).not.toBe(second?.dedupeKey);
  const ended = { ...before, credentialsGeneration: 3 };
  expect(eventsOf({ credentialsGeneration: 3 }, ended)).toEqual([]);
  // The first rights in a cluster end none.
  expect(eventsOf({ credentialsGeneration: 3 }, cluster.status)).toEqual([]);
});

test("conditions of other controllers are no part of the status that is written, and cause no write", () => {
  const { cluster, ...observed } = converged();
  const foreign = { type: "example.com/BackedUp", status: "True", reason: "Done", message: "" } as const;
  const conditions = [
    { ...foreign, lastTransitionTime: secondsAgo(60) },
    ...(cluster.status?.conditions ?? []),
  ];
  const noted = { ...cluster, status: { ...cluster.status, conditions } };
  expect(reconcileCluster({ ...observed, cluster: noted }, NOW).status).toBeUndefined();
  const changed = { ...noted, metadata: { ...noted.metadata, generation: 9 } };
  const written = reconcileCluster({ ...observed, cluster: changed }, NOW).status?.conditions;
  expect(written?.map(({ type }) => type)).toEqual([
    "Ready",
    "ControlPlaneReady",
    "WorkersReady",
    "EndpointReachable",
    "NetworkPolicyApplied",
    "Reconciling",
  ]);
});

describe("conditions are Unknown until they are known", () => {
  const initialized = (status: "True" | "False") => ({
    conditions: [aCondition("ControlPlaneInitialized", status)],
  });
  const applied = { generation: 2 };
  test.each<[string, string, Partial<ObservedCluster> & { capiFacts?: CapiFacts }, string]>([
    ["WorkersReady", "without pools before the control plane is up", { capi: undefined }, "Unknown"],
    ["WorkersReady", "without pools while it starts", { capiFacts: initialized("False") }, "Unknown"],
    ["WorkersReady", "without pools once it is up", { capiFacts: initialized("True") }, "True"],
    ["EndpointReachable", "before the first probe", { probe: undefined }, "Unknown"],
    ["NetworkPolicyApplied", "of a cluster that is not made yet", { capi: undefined }, "Unknown"],
    [
      "NetworkPolicyApplied",
      "of a cluster that Cluster API has not observed",
      { capiFacts: { metadata: applied } },
      "Unknown",
    ],
  ])("%s %s", (type, _name, rest, expected) => {
    expect(findCondition(statusAfter(observeBlue(rest)).conditions, type)?.status).toBe(expected);
  });
});

describe("before the first Ready", () => {
  const pools = [aClusterPool()];
  test.each<[string, Partial<ObservedCluster> & { capiFacts?: CapiFacts }, string]>([
    ["no Cluster API Cluster", { capi: undefined }, "False WaitingForControlPlane"],
    [
      "a control plane that is not up",
      { capiFacts: { conditions: [aCondition("ControlPlaneInitialized", "False")] } },
      "False WaitingForControlPlane",
    ],
    [
      "nodes that are not ready although Cluster API reports Available",
      { pools: [aClusterPool({ machineDeployment: aPoolState({ readyNodes: 0 }) })] },
      "False WaitingForNodes",
    ],
    [
      "Available False",
      { pools, capiFacts: { conditions: [aCondition("Available", "False")] } },
      "False WaitingForNodes",
    ],
    ["an endpoint that was not probed", { probe: undefined }, "False WaitingForEndpoint"],
    [
      "an endpoint that is not reachable",
      { probe: { ok: false, message: "rejected" } },
      "False WaitingForEndpoint",
    ],
    ["everything ready", { pools }, "True Available"],
    [
      "a private endpoint",
      { cluster: aCluster({ publicEndpoint: false }), probe: undefined },
      "True Available",
    ],
  ])("%s", (_name, rest, expected) => {
    const status = statusAfter(observeBlue(rest));
    expect(reasonOf(status, "Ready")).toBe(expected);
    expect(status.phase).toBe(expected.startsWith("True") ? "Ready" : "Provisioning");
  });

  test("Ready names the version although Cluster API has not converged yet", () => {
    const capiFacts = { conditions: [aCondition("TopologyReconciled", "False")] };
    const status = statusAfter(observeBlue({ capiFacts }));
    expect(status).toMatchObject({ phase: "Ready", version: "1.34.2" });
    expect(status.transitions).toMatchObject([{ type: "Ready", version: "1.34.2" }]);
  });

  test.each<[string, string | undefined]>([
    ["by kubectl", undefined],
    ["by REST, whose object has another name,", "web"],
  ])("a new cluster counts a pool made %s as ready once it has its nodes", (_name, displayName) => {
    const pool = aPool(displayName === undefined ? {} : { displayName });
    const pools = [aClusterPool({ pool })];
    expect(statusAfter(observeBlue({ pools })).nodePools).toEqual({ total: 1, ready: 1 });
    const missing = [aClusterPool({ pool, machineDeployment: aPoolState({ readyNodes: 1 }) })];
    expect(statusAfter(observeBlue({ pools: missing })).nodePools).toEqual({ total: 1, ready: 0 });
    const deleted = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: NOW.toISOString() } };
    const deleting = [aClusterPool({ pool: deleted })];
    expect(statusAfter(observeBlue({ pools: deleting })).nodePools).toEqual({ total: 1, ready: 0 });
  });

  test("a problem that needs a change of the spec is Failed, Stalled, and not Reconciling", () => {
    const status = statusAfter(observeBlue({ capi: undefined, cluster: aCluster({ version: "1.99" }) }));
    expect(status.phase).toBe("Failed");
    expect(reasonOf(status, "Stalled")).toBe("True UnknownVersion");
    expect(reasonOf(status, "Reconciling")).toBe("False UnknownVersion");
    expect(status.message).toMatch(/set spec\.version to one of/);
  });
});

describe("after the first Ready it stays True", () => {
  const busy = (machines = [aMachine("one")]) => [
    aClusterPool({ machineDeployment: aPoolState({ nodes: 3, readyNodes: 2, replicas: 3 }), machines }),
  ];
  test.each<[string, (converged: ObservedCluster) => ObservedCluster, string]>([
    ["while a pool scales", (it) => ({ ...it, pools: busy() }), "Scaling"],
    [
      "while Cluster API reports Available False",
      (it) => withConditions(it, aCondition("Available", "False")),
      "Ready",
    ],
    ["while machines roll", (it) => withConditions(it, aCondition("RollingOut", "True")), "Ready"],
    [
      "while it is upgraded",
      (it) => ({ ...it, cluster: { ...it.cluster, spec: { ...it.cluster.spec, version: "1.35" } } }),
      "Upgrading",
    ],
    [
      "when a change is rejected",
      (it) => ({ ...it, cluster: { ...it.cluster, spec: { ...it.cluster.spec, version: "1.35.9" } } }),
      "Ready",
    ],
  ])("%s", (_name, change, phase) => {
    const status = statusAfter(change(converged()));
    expect(findCondition(status.conditions, "Ready")?.status).toBe("True");
    expect(status.phase).toBe(phase);
  });
});

describe("a wait that lasts", () => {
  const waiting = (seconds: number, reportWaitAfterSeconds = 55) => {
    const blockingCondition = aCondition("InfrastructureReady", "False", "NotReady", "no capacity in zone a");
    const initialized = aCondition("ControlPlaneInitialized", "False");
    const blue = observeBlue({ capiFacts: { conditions: [blockingCondition, initialized] } });
    const observed = { ...blue, settings: { ...blue.settings, reportWaitAfterSeconds } };
    const status = reconcileCluster(observed, new Date(NOW.getTime() - seconds * 1000)).status;
    return reconcileCluster(
      { ...observed, cluster: { ...observed.cluster, ...(status && { status }) } },
      NOW,
    );
  };
  test("has no message at first, and is requeued in time", () => {
    const plan = waiting(30);
    expect(plan).toMatchObject({ status: undefined, requeueAfterMs: 25_000, events: [] });
  });
  test("is no news for as long as the settings say", () => {
    const plan = waiting(55, 900);
    expect(plan).toMatchObject({ status: undefined, requeueAfterMs: 845_000, events: [] });
  });
  test("names cause, object and next step within a minute: message, condition and Event", () => {
    const { status, events } = waiting(55);
    const message = /control plane of blue .*no capacity in zone a.*ask the platform's operator/;
    expect(status?.message).toMatch(message);
    expect(findCondition(status?.conditions, "Ready")?.message).toMatch(message);
    expect(events).toMatchObject([
      { type: "Normal", reason: "WaitingForControlPlane", note: expect.stringMatching(message) },
    ]);
  });
});

test("a deletion reports what it waits for", () => {
  const deletion = { deletionTimestamp: secondsAgo(70) };
  const conditions = [aCondition("Deleting", "True", "WaitingForWorkersDeletion", "* Machine x: draining")];
  const cluster = aCluster();
  const deleting = { ...cluster, metadata: { ...cluster.metadata, ...deletion } };
  const status = statusAfter(
    observeBlue({ cluster: deleting, capiFacts: { metadata: deletion, conditions } }),
  );
  expect(status.phase).toBe("Deleting");
  expect(findCondition(status.conditions, "Ready")?.message).toMatch(/Machine x: draining.*ask/);
});

test("a copy of a cluster is Stalled and gets nothing", () => {
  const plan = reconcileCluster(observeBlue({ capi: undefined, olderDuplicate: "org-x/original" }), NOW);
  expect(plan).toMatchObject({ write: [], remove: [], metadata: undefined });
  expect(reasonOf(plan.status ?? {}, "Stalled")).toBe("True DuplicateID");
  expect(plan.status?.message).toMatch(/^An older object has the same id/);
});
