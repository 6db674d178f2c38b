import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import { reconcileCluster } from "./reconcile.ts";
import { aCondition, NOW, observeBlue, secondsAgo } from "./testing.ts";
import { reasonOf, statusAfter } from "./testing-status.ts";

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
