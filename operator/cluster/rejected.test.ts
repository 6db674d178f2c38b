import { describe, expect, test } from "vitest";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { aPool } from "../node-pool/testing.ts";
import { ALL_VARIABLES, makeClass, makePool } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { reconcileCluster } from "./reconcile.ts";
import { NOW, observeBlue } from "./testing.ts";
import { conditionOf, topologyOf } from "./testing-plan.ts";
import { reasonOf } from "./testing-status.ts";

const TAINTS_REJECTED = { rejected: new Map([["taints", "the gate is off"]] as const) };

test("taints that Cluster API does not take keep their own new pool out, and nothing else", () => {
  const taint = { key: "gpu", effect: "NoSchedule" } as const;
  const tainted = makePool("gpu", { nodeTaints: [taint] });
  const running = aCluster().withPools(makePool("web"), tainted);
  const poolsOf = (fixture: typeof running) => topologyOf(fixture.plan())?.workers?.machineDeployments;
  expect(poolsOf(running)?.map(({ name }) => name)).toEqual(["web", "gpu"]);
  expect(poolsOf(running.with(TAINTS_REJECTED))?.map(({ name }) => name)).toEqual(["web"]);
  // A pool that has its taints is not removed on account of a gate that was closed later, but Cluster API takes them no more.
  const before = aCluster().withPools(makePool("web")).ready();
  const closed = before.withPools(makePool("web"), tainted).reconciled().with(TAINTS_REJECTED);
  expect(poolsOf(closed)).toMatchObject([{ name: "web" }, { name: "gpu" }]);
  expect(poolsOf(closed)?.filter(({ taints }) => taints !== undefined)).toEqual([]);
  const known = [expect.objectContaining({ field: "nodePools/gpu", reason: "TaintsUnavailable" })];
  expect(closed.plan().status?.unapplied).toEqual(known);
  expect(conditionOf(closed.plan(), "Stalled")).toMatchObject({
    status: "True",
    reason: "TaintsUnavailable",
  });
  const byVariable = closed.with({
    classes: new Map([["marina-system/standard-v1", makeClass([...ALL_VARIABLES, "nodeTaints"])]]),
  });
  expect(poolsOf(byVariable)?.[1]?.variables?.overrides).toContainEqual({
    name: "nodeTaints",
    value: [taint],
  });
});

test("a pool of which a part is not applied says why, and is not ready where it is new", () => {
  const unapplied = { reason: "TaintsUnavailable", message: "The platform cannot. Ask it." };
  const kept = aPool({ nodeTaints: [{ key: "gpu", effect: "NoSchedule" }] }).with({ unapplied });
  expect(kept.condition("Stalled")).toMatchObject({ status: "True", reason: "TaintsUnavailable" });
  expect(kept.condition("Ready")).toMatchObject({ status: "False", reason: "TaintsUnavailable" });
  expect(kept.deleting().condition("Stalled")).toBeUndefined();
});

describe("an apply that Cluster API does not accept", () => {
  const planAfter = (kind: "rejected" | "unavailable", message: string) =>
    reconcileCluster(observeBlue({ capi: undefined, applyFailure: { kind, message } }), NOW);

  test("a rejection is Stalled with Cluster API's message, and retried once a minute", () => {
    const plan = planAfter(
      "rejected",
      'Cluster.cluster.x-k8s.io "blue" is invalid: spec.topology.variables[x]: not defined',
    );
    expect(reasonOf(plan.status ?? {}, "Stalled")).toBe("True RejectedByClusterAPI");
    expect(plan.status?.message).toContain("as specified: x: not defined");
    expect(plan).toMatchObject({ write: [], requeueAfterMs: 60_000 });
  });
  test("an exceeded ResourceQuota has its own reason", () => {
    const plan = planAfter(
      "rejected",
      'clusters "blue" is forbidden: exceeded quota: small, used: 3, limited: 3',
    );
    expect(reasonOf(plan.status ?? {}, "Stalled")).toBe("True QuotaExceeded");
  });
  test("an unavailable API is a wait, not the user's fault", () => {
    const { status } = planAfter("unavailable", "failed calling webhook: connection refused");
    expect(reasonOf(status ?? {}, "Stalled")).toBeUndefined();
    expect(reasonOf(status ?? {}, "Reconciling")).toBe("True ClusterAPIUnavailable");
    expect(status?.phase).toBe("Provisioning");
  });
  test("it keeps its network, for it is retried, and gives it up with its deletion at once", () => {
    const taken = aCluster().reconciled();
    const rejected = taken.with({
      capi: undefined,
      applyFailure: { kind: "rejected", message: "is invalid" },
    });
    expect(rejected.plan()).toMatchObject({ write: [], remove: [] });
    const { remove, releaseFinalizer } = rejected.deleting().plan();
    const { name } = taken.observed.subnets.own ?? {};
    expect(remove).toContainEqual(expect.objectContaining({ verb: "delete", kind: configMapKind, name }));
    expect([name, releaseFinalizer]).toEqual([expect.stringMatching(/^subnet-/), true]);
  });
});
