import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { Cluster, ClusterStatus } from "../../shared/crd/cluster.ts";
import { readEngineCluster } from "../engine/cluster-state.ts";
import type { EngineCluster } from "../engine/kinds.ts";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import {
  aCluster,
  aClusterPool,
  aCondition,
  aMachine,
  anEngineCluster,
  aPoolState,
  type EngineFacts,
  NOW,
  observeBlue,
  secondsAgo,
} from "./testing.ts";

/** The status after one reconcile; where it did not change, the last one. */
function statusAfter(observed: ObservedCluster): ClusterStatus {
  return reconcileCluster(observed, NOW).status ?? observed.cluster.status ?? {};
}

/** A cluster that converged an hour ago: its own status is what a reconcile makes of it. */
function settle(cluster: Cluster = aCluster(), engineFacts: EngineFacts = {}): ObservedCluster {
  const first = observeBlue({ cluster, engineFacts });
  const applied = reconcileCluster(first, NOW).apply[0];
  if (applied?.verb !== "apply") throw new Error("nothing was applied");
  const live = anEngineCluster(engineFacts);
  const { metadata, spec } = applied.object as EngineCluster;
  const observed = observeWith(first, {
    ...live,
    metadata: { ...live.metadata, ...metadata },
    spec: { ...live.spec, ...spec },
  });
  const status = reconcileCluster(observed, new Date(NOW.getTime() - 3_600_000)).status;
  return { ...observed, cluster: { ...cluster, ...(status && { status }) } };
}

function observeWith(observed: ObservedCluster, object: EngineCluster): ObservedCluster {
  return { ...observed, engine: { object, state: readEngineCluster(object) } };
}

function withConditions(observed: ObservedCluster, ...conditions: ReturnType<typeof aCondition>[]) {
  const object = observed.engine?.object;
  if (object === undefined) throw new Error("no engine");
  const others = (object.status?.conditions ?? []).filter(
    ({ type }) => !conditions.some((condition) => condition.type === type),
  );
  return observeWith(observed, {
    ...object,
    status: { ...object.status, conditions: [...others, ...conditions] },
  });
}

function reasonOf(status: ClusterStatus, type: "Ready" | "Reconciling" | "Stalled" | "Upgrading") {
  const condition = findCondition(status.conditions, type);
  return `${condition?.status} ${condition?.reason}`;
}

describe("a converged cluster", () => {
  test("plans nothing: no step, no status, no event", () => {
    const plan = reconcileCluster(settle(), NOW);
    expect(plan).toMatchObject({ apply: [], remove: [], status: undefined, events: [], metadata: undefined });
  });
  test("is Ready, with what runs and since when", () => {
    const { status } = settle().cluster;
    expect(status).toMatchObject({ phase: "Ready", version: "1.34.2", firstReadyAt: secondsAgo(3600) });
    expect(status?.transitions).toMatchObject([{ sequence: 1, type: "Ready", version: "1.34.2" }]);
    expect(status?.message).toBeUndefined();
  });
});

describe("before the first Ready", () => {
  const pools = [aClusterPool()];
  test.each<[string, Partial<ObservedCluster> & { engineFacts?: EngineFacts }, string]>([
    ["no engine object", { engine: undefined }, "False WaitingForControlPlane"],
    [
      "a control plane that is not up",
      { engineFacts: { conditions: [aCondition("ControlPlaneInitialized", "False")] } },
      "False WaitingForControlPlane",
    ],
    [
      "nodes that are not ready although Cluster API says so",
      { pools: [aClusterPool({ engine: aPoolState({ readyNodes: 0 }) })] },
      "False WaitingForNodes",
    ],
    [
      "an engine that is not done",
      { pools, engineFacts: { conditions: [aCondition("Available", "False")] } },
      "False WaitingForNodes",
    ],
    ["an endpoint that was not asked", { probe: undefined }, "False WaitingForEndpoint"],
    [
      "an endpoint that does not answer",
      { probe: { ok: false, message: "rejected" } },
      "False WaitingForEndpoint",
    ],
    ["all of it", { pools }, "True Available"],
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
    const engineFacts = { conditions: [aCondition("TopologyReconciled", "False")] };
    const status = statusAfter(observeBlue({ engineFacts }));
    expect(status).toMatchObject({ phase: "Ready", version: "1.34.2" });
    expect(status.transitions).toMatchObject([{ type: "Ready", version: "1.34.2" }]);
  });

  test("a fault that only people can mend is Failed, Stalled, and not Reconciling", () => {
    const status = statusAfter(observeBlue({ engine: undefined, cluster: aCluster({ version: "1.99" }) }));
    expect(status.phase).toBe("Failed");
    expect(reasonOf(status, "Stalled")).toBe("True UnknownVersion");
    expect(reasonOf(status, "Reconciling")).toBe("False UnknownVersion");
    expect(status.message).toMatch(/set spec\.version to one of/);
  });
});

describe("after the first Ready it stays True", () => {
  const busy = (machines = [aMachine("one")]) => [
    aClusterPool({ engine: aPoolState({ nodes: 3, readyNodes: 2, replicas: 3 }), machines }),
  ];
  test.each<[string, (converged: ObservedCluster) => ObservedCluster, string]>([
    ["while a pool scales", (it) => ({ ...it, pools: busy() }), "Scaling"],
    [
      "while Cluster API says Available False",
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
      "when a request is refused",
      (it) => ({ ...it, cluster: { ...it.cluster, spec: { ...it.cluster.spec, version: "1.35.9" } } }),
      "Ready",
    ],
  ])("%s", (_name, change, phase) => {
    const status = statusAfter(change(settle()));
    expect(findCondition(status.conditions, "Ready")?.status).toBe("True");
    expect(status.phase).toBe(phase);
  });
});

describe("degraded", () => {
  const probeFails = { probe: { ok: false, message: "connection refused" } };
  const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

  function failing(change: (converged: ObservedCluster) => ObservedCluster) {
    const broken = change(settle());
    const status = reconcileCluster(broken, NOW).status;
    return { ...broken, cluster: { ...broken.cluster, ...(status && { status }) } };
  }

  test.each<[string, (converged: ObservedCluster) => ObservedCluster, string]>([
    ["the endpoint", (it) => ({ ...it, ...probeFails }), "EndpointUnreachable"],
    [
      "the control plane",
      (it) => withConditions(it, aCondition("ControlPlaneAvailable", "Unknown", "InspectionFailed")),
      "ControlPlaneUnavailable",
    ],
    [
      "Cluster API's own way in",
      (it) => withConditions(it, aCondition("RemoteConnectionProbe", "False", "ProbeFailed")),
      "ControlPlaneUnavailable",
    ],
  ])("%s: after the threshold and not before", (_name, change, reason) => {
    const broken = failing(change);
    expect(broken.cluster.status?.phase).toBe("Ready");
    expect(reconcileCluster(broken, later(59)).status?.phase ?? "Ready").toBe("Ready");
    const degraded = reconcileCluster(broken, later(60)).status;
    expect(degraded).toMatchObject({ phase: "Degraded" });
    expect(reasonOf(degraded ?? {}, "Ready")).toBe(`False ${reason}`);
    expect(degraded?.transitions?.at(-1)).toMatchObject({ sequence: 2, type: "Degraded", reason });
    expect(degraded?.message).toMatch(/If this lasts, ask the platform's operator/);
  });

  test("is looked at again exactly when the threshold passes", () => {
    expect(
      reconcileCluster(
        failing((it) => ({ ...it, ...probeFails })),
        later(20),
      ).requeueAfterMs,
    ).toBe(40_000);
  });

  test("a sick node: after its own, longer threshold", () => {
    const unhealthy = (seconds: number) => ({
      since: secondsAgo(seconds),
      reason: "NodeNotHealthy",
      message: "",
    });
    const phaseWith = (seconds: number) =>
      statusAfter({
        ...settle(),
        pools: [
          aClusterPool({
            engine: aPoolState({ readyNodes: 1 }),
            machines: [aMachine("one"), aMachine("two", { unhealthy: unhealthy(seconds) })],
          }),
        ],
      }).phase;
    expect(phaseWith(299)).toBe("Scaling");
    expect(phaseWith(300)).toBe("Degraded");
  });

  test("ends by itself, with a transition and an Event", () => {
    const broken = failing((it) => ({ ...it, ...probeFails }));
    const degraded = reconcileCluster(broken, later(60)).status;
    const healed = { ...settle(), cluster: { ...broken.cluster, ...(degraded && { status: degraded }) } };
    const plan = reconcileCluster(healed, later(90));
    expect(plan.status).toMatchObject({ phase: "Ready" });
    expect(plan.status?.transitions?.at(-1)).toMatchObject({ sequence: 3, type: "Recovered" });
    expect(plan.events).toMatchObject([{ type: "Normal", reason: "Recovered" }]);
  });
});

describe("an upgrade", () => {
  const upgrading = (facts: EngineFacts) =>
    observeBlue({
      cluster: aCluster(
        { version: "1.35" },
        { status: { ...settle().cluster.status, targetVersion: "1.35.1" } },
      ),
      engineFacts: { version: "1.35.1", ...facts },
      pools: [aClusterPool({ engine: aPoolState({ version: "1.34.2" }) })],
    });

  test.each<[string, EngineFacts]>([
    ["Cluster API has not seen it", { observedGeneration: 0 }],
    [
      "the topology is not reconciled",
      { conditions: [aCondition("TopologyReconciled", "False", "ClusterUpgrading")] },
    ],
    ["machines roll", { conditions: [aCondition("RollingOut", "True")] }],
    ["the control plane runs two versions", { controlPlane: ["1.34.2", "1.35.1"] }],
    ["a worker runs the old one", { workers: ["1.34.2", "1.35.1"] }],
  ])("has not converged while %s", (_name, facts) => {
    const status = statusAfter(upgrading(facts));
    expect(status).toMatchObject({ phase: "Upgrading", version: "1.34.2", targetVersion: "1.35.1" });
    expect(status.transitions).toHaveLength(1);
  });

  test("that has converged is told once, with both versions", () => {
    const status = statusAfter(upgrading({}));
    expect(status.version).toBe("1.35.1");
    expect(status.transitions).toMatchObject([
      { type: "Ready" },
      { sequence: 2, type: "Upgraded", version: "1.35.1", previousVersion: "1.34.2" },
    ]);
  });

  test.each([
    ["the control plane is upgrading to 1.35.1", { controlPlane: ["1.34.2"], workers: ["1.34.2"] }],
    ["nodes up to date by pool: general 2 of 2", { workers: ["1.34.2"] }],
  ])("says where it is: %s", (words, facts) => {
    const upgrade = findCondition(statusAfter(upgrading(facts)).conditions, "Upgrading");
    expect(upgrade?.message).toContain(words);
  });

  test("that Cluster API puts off is waiting, one that it refuses is Stalled, in its own words", () => {
    const wants = settle(aCluster({ version: "1.34" }));
    const cluster = { ...wants.cluster, spec: { ...wants.cluster.spec, version: "1.35" } };
    const answer = (words: string) =>
      statusAfter({
        ...wants,
        cluster,
        upgradeRejection: `admission webhook "w" denied the request: Cluster.cluster.x-k8s.io "blue" is invalid: ${words}`,
      });
    const later = answer("version cannot be changed: [control plane is still completing a previous upgrade]");
    expect(reasonOf(later, "Stalled")).toBe("False NotStalled");
    const never = answer("spec.topology.version: Forbidden: by policy");
    expect(reasonOf(never, "Stalled")).toBe("True RejectedByClusterAPI");
    expect(never.message).toMatch(/as specified: spec\.topology\.version: Forbidden: by policy\. Change/);
  });
});

describe("what Cluster API answers", () => {
  const answered = (kind: "rejected" | "unavailable", message: string) =>
    reconcileCluster(observeBlue({ engine: undefined, applyFailure: { kind, message } }), NOW);

  test("a refusal is Stalled with Cluster API's words and asked again now and then", () => {
    const plan = answered(
      "rejected",
      'Cluster.cluster.x-k8s.io "blue" is invalid: spec.topology.variables[x]: not defined',
    );
    expect(reasonOf(plan.status ?? {}, "Stalled")).toBe("True RejectedByClusterAPI");
    expect(plan.status?.message).toContain("spec.topology.variables[x]: not defined");
    expect(plan).toMatchObject({ apply: [], requeueAfterMs: 60_000 });
  });
  test("a quota is called a quota", () => {
    const plan = answered(
      "rejected",
      'clusters "blue" is forbidden: exceeded quota: small, used: 3, limited: 3',
    );
    expect(reasonOf(plan.status ?? {}, "Stalled")).toBe("True QuotaExceeded");
  });
  test("silence is waiting, not the user's fault", () => {
    const { status } = answered("unavailable", "failed calling webhook: connection refused");
    expect(reasonOf(status ?? {}, "Stalled")).toBe("False NotStalled");
    expect(reasonOf(status ?? {}, "Reconciling")).toBe("True ClusterAPIUnavailable");
    expect(status?.phase).toBe("Provisioning");
  });
  test.each([
    [14, "False"],
    [15, "True"],
  ])("a refusal after the apply counts when it has stood: %i s", (seconds, stalled) => {
    const late = aCondition(
      "TopologyReconciled",
      "False",
      "ReconcileFailed",
      "failed to retrieve ClusterClass",
    );
    const observed = observeBlue({
      engineFacts: { conditions: [{ ...late, lastTransitionTime: secondsAgo(seconds) }] },
    });
    expect(findCondition(statusAfter(observed).conditions, "Stalled")?.status).toBe(stalled);
  });
});

describe("a wait that lasts", () => {
  const waiting = (seconds: number) => {
    const blockingCondition = aCondition("InfrastructureReady", "False", "NotReady", "no capacity in zone a");
    const initialized = aCondition("ControlPlaneInitialized", "False");
    const observed = observeBlue({ engineFacts: { conditions: [blockingCondition, initialized] } });
    const status = reconcileCluster(observed, new Date(NOW.getTime() - seconds * 1000)).status;
    return reconcileCluster(
      { ...observed, cluster: { ...observed.cluster, ...(status && { status }) } },
      NOW,
    );
  };
  test("is silent at first, and looked at again in time", () => {
    const plan = waiting(30);
    expect(plan).toMatchObject({ status: undefined, requeueAfterMs: 25_000, events: [] });
  });
  test("names cause, object and next step within a minute: message, condition and Event", () => {
    const { status, events } = waiting(55);
    const words = /control plane of blue .*no capacity in zone a.*ask the platform's operator.*\/blue/;
    expect(status?.message).toMatch(words);
    expect(findCondition(status?.conditions, "Ready")?.message).toMatch(words);
    expect(events).toMatchObject([
      { type: "Warning", reason: "WaitingForControlPlane", note: expect.stringMatching(words) },
    ]);
  });
});

describe("deleting", () => {
  const deletion = { deletionTimestamp: secondsAgo(70) };
  const deleting = (rest: Partial<ObservedCluster> & { engineFacts?: EngineFacts }) => {
    const cluster = aCluster();
    return observeBlue({ ...rest, cluster: { ...cluster, metadata: { ...cluster.metadata, ...deletion } } });
  };
  test("deletes pools and engine object, keeps finalizer and subnet", () => {
    const plan = reconcileCluster(deleting({ pools: [aClusterPool()] }), NOW);
    expect(plan.remove.map((step) => step.kind.plural)).toEqual(["nodepools", "clusters"]);
    expect(plan.releaseFinalizer).toBe(false);
  });
  test("says why it waits", () => {
    const engineFacts = {
      metadata: deletion,
      conditions: [aCondition("Deleting", "True", "WaitingForWorkersDeletion", "* Machine x: draining")],
    };
    const status = statusAfter(deleting({ engineFacts }));
    expect(status.phase).toBe("Deleting");
    expect(findCondition(status.conditions, "Ready")?.message).toMatch(/Machine x: draining.*ask/);
  });
  test("frees the subnet and lets go when all is gone", () => {
    const plan = reconcileCluster(deleting({ engine: undefined }), NOW);
    expect(plan.remove).toMatchObject([{ verb: "delete", name: "subnet-10-64-3-0" }]);
    expect(plan.releaseFinalizer).toBe(true);
  });
  test("a copy lets go without the subnet of the original", () => {
    const plan = reconcileCluster(deleting({ engine: undefined, olderDuplicate: "org/original" }), NOW);
    expect(plan).toMatchObject({ remove: [], releaseFinalizer: true });
  });
});

test("a copy of a cluster is Stalled and gets nothing", () => {
  const plan = reconcileCluster(observeBlue({ engine: undefined, olderDuplicate: "org-x/original" }), NOW);
  expect(plan).toMatchObject({ apply: [], remove: [], metadata: undefined });
  expect(reasonOf(plan.status ?? {}, "Stalled")).toBe("True DuplicateID");
  expect(plan.status?.message).toContain("org-x/original");
});
