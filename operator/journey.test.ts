import { expect, test } from "vitest";
import { recordExecutedCode } from "../e2e/testing/executed-code.ts";
import { aPool } from "./node-pool/testing.ts";
import { aCluster } from "./testing-cluster.ts";

// What one reconcile executes, so that it is seen when it grows. A number that falls is lowered here.
test.each([
  { reconcile: "a node pool", of: () => aPool().withNodes(2).reconciled(), files: 15, namedFunctions: 59 },
  { reconcile: "a cluster", of: () => aCluster().reconciled(), files: 31, namedFunctions: 139 },
])("the reconcile of $reconcile runs through at most $files files", async ({ of, files, namedFunctions }) => {
  const fixture = of();
  fixture.plan();
  const executed = await recordExecutedCode(() => fixture.plan());
  expect(executed.files.length).toBeLessThanOrEqual(files);
  expect(executed.namedFunctions).toBeLessThanOrEqual(namedFunctions);
});
