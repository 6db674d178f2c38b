import { expect, test } from "vitest";
import { aPool } from "./testing.ts";

test("of a suspended cluster no node is replaced, no leftover removed, and a change waits with a message", () => {
  const cluster = { suspended: true, controlPlaneInitialized: true };
  const pool = aPool().withNodes(2).reconciled().withCluster(cluster);
  expect(pool.withSpec({ desiredNodes: 5 }).condition("Scaling")).toMatchObject({
    status: "True",
    reason: "Suspended",
  });
  expect(pool.withSpec({ vcpus: 8 }).condition("UpToDate")).toMatchObject({
    status: "False",
    reason: "Suspended",
    message: "The new settings wait: the cluster is suspended.",
  });
  const left = { machineDeployment: pool.observed.machineDeployment, lacksCapiCluster: true, machines: [] };
  expect(pool.deleting().with(left).plan()).toMatchObject({ remove: [], releaseFinalizer: false });
  expect(pool.deleting().condition("Ready")?.message).toContain("Deletion waits");
});
