import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import { aCluster, aClusterPool, aCondition, aPoolState, type CapiFacts, observeBlue } from "./testing.ts";
import { converged, reasonOf, statusAfter } from "./testing-status.ts";

describe("an upgrade", () => {
  const upgrading = (facts: CapiFacts) =>
    observeBlue({
      cluster: aCluster(
        { version: "1.35" },
        { status: { ...converged().cluster.status, targetVersion: "1.35.1" } },
      ),
      capiFacts: { version: "1.35.1", ...facts },
      pools: [aClusterPool({ machineDeployment: aPoolState({ version: "1.34.2" }) })],
    });

  test.each<[string, CapiFacts]>([
    ["Cluster API has not observed it", { observedGeneration: 0 }],
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

  test("that has converged is recorded once, with both versions", () => {
    const status = statusAfter(upgrading({}));
    expect(status.version).toBe("1.35.1");
    expect(status.transitions).toMatchObject([
      { type: "Ready" },
      { sequence: 2, type: "Upgraded", version: "1.35.1", previousVersion: "1.34.2" },
    ]);
  });

  test.each([
    ["the control plane is upgrading to 1.35.1", { controlPlane: ["1.34.2"], workers: ["1.34.2"] }],
    ["node pools that follow: general.", { workers: ["1.34.2"] }],
  ])("reports its progress: %s", (message, facts) => {
    const upgrade = findCondition(statusAfter(upgrading(facts)).conditions, "Upgrading");
    expect(upgrade?.message).toContain(message);
  });

  test("of a control plane that reports no versions settles, from its creation on", () => {
    const facts: CapiFacts = { controlPlane: [] };
    expect(statusAfter(upgrading(facts)).version).toBe("1.35.1");
    const created = { conditions: [aCondition("RollingOut", "True")], controlPlane: [], workers: [] };
    expect(statusAfter(observeBlue({ capiFacts: created })).version).toBe("1.34.2");
  });

  test("that Cluster API defers is waiting; one that it rejects is Stalled with its message", () => {
    const current = converged(aCluster({ version: "1.34" }));
    const cluster = { ...current.cluster, spec: { ...current.cluster.spec, version: "1.35" } };
    const statusAfterRejection = (reason: string) =>
      statusAfter({
        ...current,
        cluster,
        upgradeRejection: `admission webhook "w" denied the request: Cluster.cluster.x-k8s.io "blue" is invalid: ${reason}`,
      });
    const later = statusAfterRejection(
      "version cannot be changed: [control plane is still completing a previous upgrade]",
    );
    expect(reasonOf(later, "Stalled")).toBeUndefined();
    const never = statusAfterRejection("spec.topology.version: Forbidden: by policy");
    expect(reasonOf(never, "Stalled")).toBe("True RejectedByClusterAPI");
    expect(never.message).toMatch(/as specified: version: Forbidden: by policy\. Change/);
  });
});
