import { expect, test } from "vitest";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { makeClass, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { concernsPools, findMissedRemediations, observeClusterOfPool } from "./observe.ts";
import { aPool, makeMachine } from "./testing.ts";

function eventOf(reason: string, regarding: NonNullable<Event["regarding"]>, note = ""): Event {
  return { metadata: { name: reason, namespace: "org-a" }, reason, regarding, note } as Event;
}

const marked = eventOf("MachineMarkedUnhealthy", { kind: "Machine", uid: "uid-two" });
const scaledDown = eventOf("SuccessfulDelete", { kind: "MachineSet" }, 'Deleted machine "two"');

test.each([
  ["a machine that is deleted and was marked", ["one"], [marked], ["uid-two"]],
  ["no machine that is still there", ["one", "two"], [marked], []],
  ["no machine that was scaled down", ["one"], [marked, scaledDown], []],
  ["no machine without an Event", ["one"], [], []],
])(
  "of the machines in the status %s counts as a remediation that was missed",
  (_name, left, events, uids) => {
    const { pool } = aPool().with({}).observed;
    const machines = ["one", "two"].map((name) => ({ uid: `uid-${name}`, name, node: `node-${name}` }));
    const listed = { ...pool, status: { phase: "Ready" as const, machines } } as typeof pool;
    const found = findMissedRemediations(
      { events: { byIndex: () => events } },
      listed,
      left.map((name) => makeMachine(name)),
    );
    expect([...found]).toEqual(uids);
  },
);

const RATE_LIMIT = { network: { apiServerRateLimit: { maxConnectionsPerSecond: 5, burst: 10 } } };
const classes = new Map([["marina-system/standard-v1", makeClass(["workerSubnet"])]]);
const limited = aCluster().with({ classes }).ready().withSpec(RATE_LIMIT).reconciled();
const applyFailure = { kind: "rejected" as const, message: "spec: Invalid value" };

const rejected = aCluster().ready().withSpec(RATE_LIMIT).with({ applyFailure }).reconciled();

const partly = aCluster()
  .withPools(makePool("gpu"))
  .ready()
  .with({ rejected: new Map([["machine gpu", "no such size"]]) })
  .reconciled();

test.each<[string, string | undefined, ClusterFixture]>([
  ["has another pool that is rejected", undefined, partly],
  ["has a rate limit that alone waits", undefined, limited],
  ["is rejected as a whole", "RejectedByClusterAPI", rejected],
])("the reason of Stalled of a pool that is scaled while its cluster %s is %s", (_what, reason, fixture) => {
  const { cluster, capi } = fixture.observed;
  expect(cluster.status?.conditions).toContainEqual(expect.objectContaining({ type: "Stalled" }));
  const clusterOfPool = observeClusterOfPool(cluster, capi?.state);
  const pool = aPool()
    .withNodes(1)
    .reconciled()
    .withSpec({ desiredNodes: 3 })
    .with({ cluster: clusterOfPool });
  expect(pool.condition("Stalled")?.reason).toBe(reason);
  expect(pool.condition("Reconciling")?.status).toBe(reason === undefined ? "True" : "False");
});

test("a cluster concerns its pools when it was ready first, or one of them is rejected or is no more, not when another part of it is", () => {
  const { cluster } = partly.observed;
  const withParts = (...fields: string[]) => {
    const unapplied = fields.map((field) => ({ field, reason: "RejectedByClusterAPI", message: "No." }));
    return { ...cluster, status: { ...cluster.status, unapplied } };
  };
  const concerns = (...[previous, object]: ReturnType<typeof withParts>[]) =>
    object !== undefined && concernsPools({ type: "updated", previous, object, initial: false });
  const ready = withParts();
  expect(concerns({ ...ready, status: { ...ready.status, firstReadyAt: undefined } }, ready)).toBe(true);
  expect(concerns(ready, withParts("nodePools/gpu"))).toBe(true);
  expect(concerns(withParts("nodePools/gpu"), withParts("version"))).toBe(true);
  expect(concerns(withParts("nodePools/gpu"), withParts("version", "nodePools/gpu"))).toBe(false);
});
