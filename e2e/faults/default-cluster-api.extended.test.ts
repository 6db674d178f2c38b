import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CLUSTER_CLASS_NAME } from "../platform/local-provider/program.ts";
import { DIST } from "../platform/stack/marina.ts";
import { startStack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { conditionOf, createEngineer, statusOf } from "../testing/custom-resources.ts";
import { setUp } from "../testing/set-up.ts";
import { withTenantKubeconfig } from "../testing/tenant-kubeconfig.ts";
import { upgradeInto } from "./existing-cluster.ts";

const GATE = /Cluster API has no MachineTaintPropagation: .+ Turn the feature gate on\./;
const FLAG = /Cluster API sets no labels of node pools .+ Start .+ --additional-sync-machine-labels=\.\*/;
const LACKING = { phase: "Ready", stalled: "LabelsNotPropagated" };
const HELD = { phase: "Failed", readyNodes: 0, stalled: "TaintsUnavailable" };

const stack = setUp(async () => {
  const started = await startStack({
    dir: ".marina/faults-local",
    fresh: true,
    provider: "local",
    onCrash: "report",
    withoutPropagation: true,
    operator: { MARINA_SYNCED_NODE_LABELS: "" },
  });
  return { ...started, close: () => started.stop() };
});
const engineer = setUp(() => createEngineer(stack.info));
const readLog = () => readFileSync(stack.part("operator").log, "utf8");

/** What the Pod of `helm test` runs: its lines. Rejects when it fails. */
async function runPreflight(settings: Record<string, string> = {}): Promise<string> {
  const file = join(dirname(stack.info.kubeconfig), "operator.env");
  const args = [`--env-file=${file}`, join(DIST, "operator.js"), "preflight"];
  return (await promisify(execFile)(process.execPath, args, { env: settings })).stdout;
}

/** Until the pool is so, and stalled for this reason; without one it is not. */
function waitForPool(name: string, expected: { phase: string; readyNodes: number; stalled?: string }) {
  return waitFor(`${name} to be ${JSON.stringify(expected)}`, async () => {
    const pool = await engineer.getPool(name);
    const { phase, readyNodes } = pool.status ?? {};
    expect({ phase, readyNodes, stalled: conditionOf(pool, "Stalled")?.reason }).toEqual(expected);
    return pool;
  });
}

test("the operator says at its start, and `helm test` too, which gate is off; a pool without labels and taints becomes ready, and its cluster", async () => {
  await waitFor("the gate in its log", () => GATE.test(readLog()));
  expect(await runPreflight()).toMatch(GATE);
  await engineer.createCluster("demo", {});
  await engineer.createPool("plain", "demo", {});
  expect(statusOf(await waitForPool("plain", { phase: "Ready", readyNodes: 1 }), "UpToDate")).toBe("True");
  await waitFor("the cluster", async () => (await engineer.getCluster("demo")).status?.phase === "Ready");
});

test("once there is a node they say which flag is missing, whatever the operator was told of it", async () => {
  const operator = stack.part("operator");
  await operator.kill("SIGTERM");
  await operator.start();
  await waitFor("the flag in its log", () => FLAG.test(readLog()));
  expect(await runPreflight()).toMatch(FLAG);
  expect(await runPreflight({ MARINA_SYNCED_NODE_LABELS: ".*" })).toMatch(/ lacks the label .+ Start /);
});

test("a pool with a label is ready, says that its nodes lack it and what to do, and is at no time as specified", async () => {
  await engineer.createPool("tiered", "demo", { nodeLabels: { tier: "a", "node-role.kubernetes.io/b": "" } });
  await waitForPool("tiered", { ...LACKING, readyNodes: 1 });
  await engineer.patchPool("tiered", { spec: { desiredNodes: 2 } });
  const { status } = await waitForPool("tiered", { ...LACKING, readyNodes: 2 });
  expect(status?.message).toMatch(/its nodes: tier\. .+ the platform's operator .+-sync-machine-labels/);
  const { stdout } = await withTenantKubeconfig(engineer, "demo", (kubeconfig) =>
    kubectl(["get", "nodes", "--show-labels"], { kubeconfig, stack: stack.info }),
  );
  expect(stdout).toContain("node-role.kubernetes.io/b");
  expect(stdout).not.toContain("tier=");
  const claims = engineer.history.of("tiered").filter((state) => statusOf(state, "UpToDate") === "True");
  expect(claims).toEqual([]);
});

test("a pool with a taint is not made and says what to do, and its cluster goes on: another pool scales, and an upgrade ends", async () => {
  await engineer.createPool("tainted", "demo", { nodeTaints: [{ key: "gpu", effect: "NoSchedule" }] });
  const { status } = await waitForPool("tainted", HELD);
  expect(status?.message).toMatch(/cannot set taints .+ is not created\. .+ \(MachineTaintPropagation\)\.$/);
  await engineer.patchPool("plain", { spec: { desiredNodes: 2 } });
  await waitForPool("plain", { phase: "Ready", readyNodes: 2 });
  await upgradeInto(engineer, "demo", { version: "1.35", class: CLUSTER_CLASS_NAME });
  await waitForPool("tiered", { ...LACKING, readyNodes: 2 });
  expect((await waitForPool("plain", { phase: "Ready", readyNodes: 2 })).status?.version).toBe("1.35.1");
  await waitForPool("tainted", HELD);
});
