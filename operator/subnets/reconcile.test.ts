import { expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import { readAllocation } from "./allocation.ts";
import type { ObservedAllocation } from "./reconcile.ts";
import { reconcileAllocation } from "./reconcile.ts";

const NOW = new Date("2026-11-26T12:00:00.000Z");
const DAY_MS = 24 * 3_600_000;
const ago = (ms: number) => new Date(NOW.getTime() - ms).toISOString();
const LOST_AT = "cloud.marina.dev/without-cluster-since";

function observe(
  { ageMs = DAY_MS, lostMs }: { ageMs?: number; lostMs?: number },
  rest: Partial<ObservedAllocation> = {},
): ObservedAllocation {
  const configMap: ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: "marina-system",
      name: "subnet-10-64-3-0",
      uid: "u",
      labels: { [LABEL_CLUSTER_ID]: "one" },
      creationTimestamp: ago(ageMs),
      ...(lostMs !== undefined && { annotations: { [LOST_AT]: ago(lostMs) } }),
    },
    data: { subnet: "10.64.3.0/24" },
  };
  const read = readAllocation(configMap);
  if (read === undefined) throw new Error("no allocation");
  return { configMap, allocation: read, owner: undefined, runsInCapi: false, ...rest };
}

const owner = (workerSubnet?: string) => ({ status: { workerSubnet } }) as Cluster;

test.each<[string, ObservedAllocation, "kept" | "waiting" | "marked" | "unmarked" | "released"]>([
  ["of a cluster that has it", observe({}, { owner: owner("10.64.3.0/24") }), "kept"],
  ["of a cluster that has none yet", observe({}, { owner: owner() }), "kept"],
  ["of a cluster that has another one", observe({}, { owner: owner("10.64.4.0/24") }), "released"],
  ["that was just made, for a cluster that is not seen yet", observe({ ageMs: 60_000 }), "kept"],
  ["whose Cluster is gone while its nodes run", observe({}, { runsInCapi: true }), "kept"],
  ["whose cluster is gone", observe({}), "marked"],
  ["whose cluster has been gone for 29 days", observe({ lostMs: 29 * DAY_MS }), "kept"],
  ["whose cluster has been gone for 31 days", observe({ lostMs: 31 * DAY_MS }), "released"],
  [
    "of another cluster, made by a clock ahead",
    observe({ ageMs: -60_000 }, { owner: owner("10.64.4.0/24") }),
    "waiting",
  ],
  ["whose cluster is gone by a clock ahead", observe({ lostMs: -60_000 }), "kept"],
  ["whose cluster came back from a backup", observe({ lostMs: DAY_MS }, { owner: owner() }), "unmarked"],
])("a subnet %s is %s", (_, observed, expected) => {
  const { write, remove, requeueAfterMs } = reconcileAllocation(observed, NOW);
  const marks = write.flatMap((step) => (step.verb === "patch" ? step.operations.at(-1)?.op : []));
  const outcome = {
    kept: [[], 0],
    waiting: [[], 0],
    marked: [["add"], 0],
    unmarked: [["remove"], 0],
    released: [[], 1],
  };
  expect([marks, remove.length]).toEqual(outcome[expected as keyof typeof outcome]);
  const isWaiting =
    expected === "marked" ||
    expected === "waiting" ||
    (expected === "kept" && !observed.owner && !observed.runsInCapi);
  expect(requeueAfterMs !== undefined).toBe(isWaiting);
});
