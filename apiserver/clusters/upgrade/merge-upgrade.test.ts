import { describe, expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { VersionCatalogue } from "../../../shared/crd/kubernetes-version.ts";
import type { NodePoolStatus } from "../../../shared/crd/node-pool.ts";
import { composeForce } from "../../../shared/crd/upgrade-checks.ts";
import { toProjectedCluster, toProjectedNodePool } from "../../resources/project/index.ts";
import { countWorkers, isUpgradeMade, mergeUpgrade } from "./merge-upgrade.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const CATALOGUE: VersionCatalogue = [
  { version: "1.33.6", status: "supported" },
  { version: "1.34.2", status: "supported" },
  { version: "1.34.5", status: "supported" },
  { version: "1.35.0", status: "endOfLife" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];
const METADATA = {
  name: "first-abcde",
  namespace: "org-1",
  uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
  resourceVersion: "12",
  labels: { "cloud.marina.dev/id": ID },
};

function aCluster(version: string, status: Cluster["status"]) {
  const spec = { version, publicEndpoint: true };
  const object = { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", metadata: METADATA, spec };
  const projected = toProjectedCluster({ ...object, ...(status === undefined ? {} : { status }) }, ID);
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

function aPool(name: string, status: NodePoolStatus = {}, metadata = {}) {
  const size = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 1, maxNodes: 1, desiredNodes: 1 };
  const projected = toProjectedNodePool(
    {
      apiVersion: "cloud.marina.dev/v1",
      kind: "NodePool",
      metadata: { ...METADATA, ...metadata },
      spec: { clusterName: "first-abcde", displayName: name, ...size },
      status,
    },
    ID,
    ID,
  );
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

const stalled = (message: string): NodePoolStatus => ({
  phase: "Failed",
  conditions: [
    {
      type: "Stalled",
      status: "True",
      reason: "RejectedByClusterAPI",
      message,
      observedGeneration: 1,
      lastTransitionTime: "2026-11-21T09:00:00Z",
    },
  ],
});

const STALLED = {
  type: "Stalled",
  status: "True" as const,
  message: "",
  lastTransitionTime: "2026-11-21T09:00:00Z",
  observedGeneration: 1,
};

describe("an upgrade goes one step from the running version", () => {
  const running = aCluster("1.34.2", { phase: "Ready", version: "1.34.2" });

  test.each<[string, string, unknown]>([
    ["a higher patch", "1.34.5", { version: "1.34.5" }],
    ["the newest patch of the running minor", "1.34", { version: "1.34.5" }],
    ["the next minor", "1.35", { version: "1.35.1" }],
    ["a full version of the next minor", "1.35.1", { version: "1.35.1" }],
    ["the running version", "1.34.2", "target_version/not_incremental"],
    ["an older minor", "1.33.6", "target_version/not_incremental"],
    ["two minors on", "1.36", "target_version/not_incremental"],
    ["two minors on, in full", "1.36.0", "target_version/not_incremental"],
    ["a minor far away", "1.99", "target_version/not_incremental"],
    ["an unknown patch", "1.35.9", "target_version/invalid_enum"],
    ["a version at its end of life", "1.35.0", "target_version/invalid_enum"],
  ])("%s", (_, target, expected) => {
    const merge = mergeUpgrade(running, [aPool("a", { version: "1.34.2" })], target, CATALOGUE);
    if (merge.outcome === "not_running") throw new Error("it runs");
    const details =
      merge.outcome === "patch" ? merge.patch : merge.details.map(({ field, code }) => `${field}/${code}`)[0];
    expect(details).toEqual(expected);
  });

  test.each<Cluster["status"]>([
    undefined,
    { phase: "Provisioning" },
    { phase: "Upgrading", version: "1.34.2" },
    { phase: "Degraded", version: "1.34.2" },
    { phase: "Failed", version: "1.34.2" },
    { phase: "Deleting", version: "1.34.2" },
    { phase: "Ready" },
  ])("not while the cluster is %j", (status) => {
    expect(mergeUpgrade(aCluster("1.34.2", status), [], "1.35", CATALOGUE).outcome).toBe("not_running");
  });

  test("a version that is not in the catalogue is refused on a cluster that never ran one that is", () => {
    const conditions = [{ ...STALLED, reason: "UnknownVersion" }];
    const never = aCluster("1.99.0", { phase: "Failed", conditions });
    const details = [expect.objectContaining({ field: "target_version", code: "invalid_enum" })];
    expect(mergeUpgrade(never, [], "1.98", CATALOGUE)).toEqual({ outcome: "invalid", details });
  });

  test("the running version again is accepted while a pool runs an older one, and writes nothing", () => {
    const pools = [aPool("a", { version: "1.34.2" }), aPool("b", { version: "1.33.6" })];
    expect(mergeUpgrade(running, pools, "1.34.2", CATALOGUE)).toEqual({ outcome: "patch", patch: {} });
  });

  test("a step to the desired version writes nothing", () => {
    const waiting = aCluster("v1.35", { phase: "Ready", version: "1.34.2", targetVersion: "1.35.1" });
    expect(mergeUpgrade(waiting, [], "1.35", CATALOGUE)).toEqual({ outcome: "patch", patch: {} });
  });
});

describe("an upgrade is made", () => {
  const upgrading = aCluster("1.35.1", { phase: "Upgrading", version: "1.34.2" });
  const object = {
    ...upgrading.object,
    metadata: { ...METADATA, annotations: composeForce("1.35.1", "tested") },
  };

  test("where its version is desired, also before it runs", () => {
    expect(isUpgradeMade(upgrading, "1.35.1", undefined)).toBe(true);
    expect(isUpgradeMade(upgrading, "1.36.0", undefined)).toBe(false);
    // One that was upgraded on since.
    expect(isUpgradeMade(upgrading, "1.34.2", undefined)).toBe(true);
    expect(isUpgradeMade(upgrading, null, undefined)).toBe(false);
  });

  test("with its force alone, where it came with one", () => {
    expect(isUpgradeMade(upgrading, "1.35.1", { reason: "tested" })).toBe(false);
    expect(isUpgradeMade({ ...upgrading, object }, "1.35.1", { reason: "tested" })).toBe(true);
    expect(isUpgradeMade({ ...upgrading, object }, "1.35.1", { reason: "other" })).toBe(false);
  });
});

describe("the counters of an upgrade", () => {
  test("of pools that all follow have neither pending nor error", () => {
    expect(countWorkers([])).toEqual({ workers_total: 0, workers_patched: 0 });
    expect(countWorkers([aPool("a"), aPool("b")])).toEqual({ workers_total: 2, workers_patched: 2 });
  });

  test("name the pools that are blocked, and why", () => {
    const deleting = aPool("old", {}, { deletionTimestamp: "2026-11-21T09:00:00Z" });
    expect(countWorkers([aPool("a"), aPool("big", stalled("No machine is that big.")), deleting])).toEqual({
      workers_total: 3,
      workers_patched: 1,
      workers_pending: 2,
      workers_error: "big: No machine is that big. old: The node pool is being deleted.",
    });
  });
});
