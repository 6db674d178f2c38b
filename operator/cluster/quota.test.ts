import { describe, expect, test } from "vitest";
import { makePool } from "../testing.ts";
import { aCluster, type ClusterFixture, clusterPoolOf } from "../testing-cluster.ts";
import { conditionOf, topologyOf } from "./testing-plan.ts";

describe("when the quotas of the organization block", () => {
  const overQuota = { reason: "QuotaExceeded", message: "Too many." };
  const blockPool = (fixture: ClusterFixture, ...names: string[]) =>
    fixture.with({
      pools: fixture.observed.pools.map((it) => ({
        ...it,
        blocked: names.includes(it.pool.metadata.name),
      })),
    });

  test("a new cluster: nothing is created, and it is Stalled", () => {
    const plan = aCluster().with({ blocker: overQuota }).plan();
    expect([...plan.write, ...plan.remove]).toEqual([]);
    expect(plan.status).toMatchObject({ phase: "Failed", message: "Too many." });
    expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason: "QuotaExceeded" });
  });

  test("a new pool: it is left out, and the cluster is created without it", () => {
    const fixture = blockPool(aCluster().withPools(makePool("web"), makePool("db")), "db").reconciled();
    const names = fixture.capiObject().spec?.topology?.workers?.machineDeployments?.map(({ name }) => name);
    expect(names).toEqual(["web"]);
    const done = fixture.capiConverged();
    const pools = done.observed.pools.map((it) =>
      it.blocked ? { ...it, machineDeployment: undefined } : it,
    );
    expect(conditionOf(done.with({ pools }).plan(), "Ready")).toMatchObject({ status: "True" });
  });

  test("its only pool: WorkersReady names it and is Unknown, for no worker is there; the cluster is ready all the same", () => {
    const fixture = blockPool(aCluster().withPools(makePool("db")), "db")
      .reconciled()
      .capiConverged();
    const pools = fixture.observed.pools.map(({ pool }) => clusterPoolOf(pool, { blocked: true }));
    const plan = fixture.with({ pools }).plan();
    const message = expect.stringMatching(/^No node pool of the cluster is made yet.*: db\.$/);
    const workers = { status: "Unknown", reason: "WaitingForNodePools", message };
    expect(conditionOf(plan, "WorkersReady")).toMatchObject(workers);
    expect(conditionOf(plan, "Ready")).toMatchObject({ status: "True" });
    expect(plan.status?.phase).toBe("Ready");
    const starting = blockPool(aCluster().withPools(makePool("db")), "db").plan();
    expect(conditionOf(starting, "WorkersReady")).toMatchObject(workers);
  });

  test("the growth of a pool: its size stays, its other changes are applied, and nothing waits", () => {
    const ready = aCluster().withPools(makePool("web")).ready();
    const pools = ready.observed.pools.map((it) => ({
      ...it,
      pool: { ...it.pool, spec: { ...it.pool.spec, desiredNodes: 9, vcpus: 8, drainTimeoutSeconds: 60 } },
    }));
    const plan = blockPool(ready.with({ pools }), "web").plan();
    expect(topologyOf(plan)?.workers?.machineDeployments).toMatchObject([
      {
        name: "web",
        replicas: 2,
        deletion: expect.objectContaining({ nodeDrainTimeoutSeconds: 60 }),
        variables: { overrides: [{ name: "machine", value: { vcpus: 2, memoryGB: 4, diskGB: 20 } }] },
      },
    ]);
    expect(conditionOf(plan, "WorkersReady") ?? { status: "True" }).toMatchObject({ status: "True" });
  });
});
