import { expect, test } from "vitest";
import { clusterPhases } from "../../shared/crd/cluster.ts";
import { nodePoolPhases } from "../../shared/crd/node-pool.ts";
import { clusterStatusOf, nodePoolStatusOf } from "./status.ts";

const metadata = { name: "x" };

test.each<[(typeof clusterPhases)[number], string]>([
  ["Provisioning", "provisioning"],
  ["Ready", "running"],
  ["Scaling", "running"],
  ["Upgrading", "upgrading"],
  ["Degraded", "degraded"],
  ["Deleting", "deleting"],
  ["Failed", "failed"],
])("a cluster in phase %s is %s (section 3)", (phase, status) => {
  expect(clusterStatusOf({ metadata, status: { phase } })).toBe(status);
});

test.each(nodePoolPhases.map((phase) => [phase, phase.toLowerCase()] as const))(
  "a pool in phase %s is %s (section 3)",
  (phase, status) => {
    expect(nodePoolStatusOf({ metadata, status: { phase } })).toBe(status);
  },
);

test("an object without a status is provisioning", () => {
  expect(clusterStatusOf({ metadata })).toBe("provisioning");
  expect(nodePoolStatusOf({ metadata, status: {} })).toBe("provisioning");
});

test.each(clusterPhases)(
  "a cluster that is being deleted is deleting, though its phase still says %s",
  (phase) => {
    const deleted = { ...metadata, deletionTimestamp: "2026-11-21T09:00:00Z" };
    expect(clusterStatusOf({ metadata: deleted, status: { phase } })).toBe("deleting");
  },
);
