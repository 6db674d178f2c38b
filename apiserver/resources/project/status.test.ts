import { expect, test } from "vitest";
import { clusterPhases } from "../../../shared/crd/cluster.ts";
import { nodePoolPhases } from "../../../shared/crd/node-pool.ts";
import { clusterStatusOf, nodePoolStatusOf, statusMessageOf } from "./project.ts";

const metadata = { name: "x", generation: 1 };
const spec = { version: "1.34" };

test.each<[(typeof clusterPhases)[number], string]>([
  ["Provisioning", "provisioning"],
  ["Ready", "running"],
  ["Scaling", "running"],
  ["Upgrading", "upgrading"],
  ["Degraded", "degraded"],
  ["Deleting", "deleting"],
  ["Failed", "failed"],
])("a cluster in phase %s is %s", (phase, status) => {
  expect(clusterStatusOf({ metadata, spec, status: { phase, observedGeneration: 1 } })).toBe(status);
});

test.each(nodePoolPhases.map((phase) => [phase, phase.toLowerCase()] as const))(
  "a pool in phase %s is %s",
  (phase, status) => {
    expect(nodePoolStatusOf({ metadata, status: { phase, observedGeneration: 1 } })).toBe(status);
  },
);

test("an object without a status is provisioning", () => {
  expect(clusterStatusOf({ metadata, spec })).toBe("provisioning");
  expect(nodePoolStatusOf({ metadata, status: {} })).toBe("provisioning");
});

test.each(clusterPhases)(
  "a cluster that is being deleted is deleting, though its phase still says %s",
  (phase) => {
    const deleted = { ...metadata, deletionTimestamp: "2026-11-21T09:00:00Z" };
    expect(clusterStatusOf({ metadata: deleted, spec, status: { phase } })).toBe("deleting");
  },
);

const ready = { phase: "Ready", observedGeneration: 1, firstReadyAt: "2026-11-21T09:00:00Z" } as const;
const changed = { ...metadata, generation: 2 };

test.each(["Ready", "Scaling", "Failed"] as const)(
  "a pool in phase %s whose change the operator has not reported on is scaling",
  (phase) => {
    expect(nodePoolStatusOf({ metadata: changed, status: { ...ready, phase } })).toBe("scaling");
  },
);

test.each([
  { version: "1.35", status: "upgrading" },
  { version: "1.35.1", status: "upgrading" },
  { version: "1.34.3", status: "upgrading" },
  { version: "1.34", status: "running" },
  { version: "1.34.2", status: "running" },
])("a running cluster of 1.34.2 that was just given $version is $status", ({ version, status }) => {
  const given = { metadata: changed, spec: { version }, status: { ...ready, targetVersion: "1.34.2" } };
  expect(clusterStatusOf(given)).toBe(status);
  const other = { ...given, status: { ...given.status, phase: "Degraded" as const } };
  expect(clusterStatusOf(other)).toBe("degraded");
});

test("the message says what is under way as soon as it is, and nothing of what is as specified", () => {
  const conditionOf = (status: "True" | "False") => ({
    type: "Reconciling" as const,
    status,
    reason: "Scaling",
    message: "Scaling to 3 nodes.",
    lastTransitionTime: "2026-11-21T09:00:00Z",
    observedGeneration: 1,
  });
  const deleted = { ...metadata, deletionTimestamp: "2026-11-21T09:00:00Z" };
  const messageWith = (status: "True" | "False", of = metadata) =>
    statusMessageOf({ metadata: of, status: { ...ready, conditions: [conditionOf(status)] } });
  expect(messageWith("True")).toBe("Scaling to 3 nodes.");
  expect(messageWith("False")).toBeUndefined();
  expect(messageWith("False", changed)).toMatch(/accepted/);
  expect(messageWith("False", deleted)).toMatch(/deletion was accepted/);
});
