import { describe, expect, test } from "vitest";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import { aClusterPool, aCondition, aMachine, aPoolState, NOW, secondsAgo } from "./testing.ts";
import { converged, reasonOf, statusAfter, withConditions } from "./testing-status.ts";

describe("degraded", () => {
  const probeFails = { probe: { ok: false, message: "connection refused" } };
  const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

  function failing(change: (converged: ObservedCluster) => ObservedCluster) {
    const broken = change(converged());
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
      "Cluster API's own connection",
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

  test("is requeued for the moment when the threshold passes", () => {
    expect(
      reconcileCluster(
        failing((it) => ({ ...it, ...probeFails })),
        later(20),
      ).requeueAfterMs,
    ).toBe(40_000);
  });

  test("an unhealthy node: after its own, longer threshold", () => {
    const unhealthy = (seconds: number) => ({
      since: secondsAgo(seconds),
      reason: "NodeNotHealthy",
      message: "",
    });
    const phaseWith = (seconds: number) =>
      statusAfter({
        ...converged(),
        pools: [
          aClusterPool({
            machineDeployment: aPoolState({ readyNodes: 1 }),
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
    const healed = { ...converged(), cluster: { ...broken.cluster, ...(degraded && { status: degraded }) } };
    const plan = reconcileCluster(healed, later(90));
    expect(plan.status).toMatchObject({ phase: "Ready" });
    expect(plan.status?.transitions?.at(-1)).toMatchObject({ sequence: 3, type: "Recovered" });
    expect(plan.events).toMatchObject([{ type: "Normal", reason: "Recovered" }]);
  });
});
