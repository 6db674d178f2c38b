import { expect, test } from "vitest";
import { capiPoolWith, makeCondition, makeMachine, makePool, START } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";

const unreachable = { ok: false, message: "ECONNREFUSED" };
const unhealthy = (since: string) =>
  makeMachine("m1", {
    conditions: [
      makeCondition("NodeHealthy", "Unknown", { reason: "NodeHealthyUnknown", lastTransitionTime: since }),
    ],
  });

test("an endpoint that is unreachable for less than a minute degrades nothing, and the cluster is requeued in time", () => {
  const fixture = aCluster().ready().after(600).with({ probe: unreachable }).reconciled();
  expect(fixture.observed.cluster.status?.phase).toBe("Ready");
  expect(fixture.after(20).plan().requeueAfterMs).toBe(40_000);
});

test("an endpoint that is unreachable for a minute degrades the cluster until it is reachable", () => {
  const lost = aCluster().ready().after(600).with({ probe: unreachable }).reconciled().after(60).reconciled();
  const { status } = lost.observed.cluster;
  expect(status).toMatchObject({ phase: "Degraded" });
  expect(status?.message).toContain("does not respond: ECONNREFUSED.");
  expect(status?.transitions?.at(-1)).toMatchObject({ type: "Degraded", reason: "EndpointUnreachable" });
  const back = lost.with({ probe: { ok: true, message: "" } }).reconciled();
  expect(back.observed.cluster.status).toMatchObject({ phase: "Ready" });
  expect(back.observed.cluster.status?.transitions?.map((it) => it.type)).toEqual([
    "Ready",
    "Degraded",
    "Recovered",
  ]);
});

test("a degraded cluster whose endpoint fails meanwhile has not recovered before that answers", () => {
  const lost = aCluster()
    .ready()
    .withCapiConditions([makeCondition("ControlPlaneAvailable", "False")])
    .reconciled()
    .after(60)
    .with({ probe: unreachable })
    .reconciled();
  const half = lost
    .withCapiConditions([makeCondition("ControlPlaneAvailable", "True")])
    .after(20)
    .reconciled();
  expect(half.observed.cluster.status).toMatchObject({ phase: "Degraded" });
  expect(half.observed.cluster.status?.message).toContain("does not respond: ECONNREFUSED.");
  const back = half.with({ probe: { ok: true, message: "" } }).reconciled();
  const types = back.observed.cluster.status?.transitions?.map(({ type }) => type);
  expect(types).toEqual(["Ready", "Degraded", "Recovered"]);
});

test.each([
  { what: "its control plane is not available", type: "ControlPlaneAvailable", status: "Unknown" as const },
  { what: "Cluster API cannot reach it", type: "RemoteConnectionProbe", status: "False" as const },
])("a cluster is degraded when $what for a minute", ({ type, status }) => {
  const lost = aCluster()
    .ready()
    .withCapiConditions([makeCondition(type, status)])
    .reconciled()
    .after(60)
    .reconciled();
  expect(lost.observed.cluster.status?.phase).toBe("Degraded");
  expect(lost.observed.cluster.status?.transitions?.at(-1)).toMatchObject({
    reason: "ControlPlaneUnavailable",
  });
});

test("a cluster that is not Available only because of new nodes is not degraded", () => {
  const busy = aCluster()
    .ready()
    .withCapiConditions([makeCondition("Available", "False")])
    .reconciled();
  expect(busy.after(600).reconciled().observed.cluster.status?.phase).toBe("Ready");
});

test.each([
  { seconds: 299, phase: "Ready" },
  { seconds: 300, phase: "Degraded" },
])("a node that is unhealthy for $seconds s makes the cluster $phase", ({ seconds, phase }) => {
  const ready = aCluster().withPools(makePool("web")).ready();
  const pools = ready.observed.pools.map((pool) => ({
    ...pool,
    machineDeployment: capiPoolWith({ desired: 2 }),
    machines: [unhealthy(START.toISOString())],
  }));
  expect(ready.with({ pools }).after(seconds).reconciled().observed.cluster.status?.phase).toBe(phase);
});

test("an operator that has just started keeps the last result of the probe", () => {
  const fixture = aCluster().ready().with({ probe: undefined });
  expect(fixture.plan().status).toBeUndefined();
});
