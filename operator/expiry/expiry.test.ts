import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_RECREATE, LABEL_ID } from "../../shared/crd/names.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import { capiClusterKind } from "../capi/kinds.ts";
import { readTopologyPools } from "../capi/worker-pool.ts";
import { aPool } from "../node-pool/testing.ts";
import { CLUSTER_ID, makePool, START } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { countLeftInDeleted, decideProtection } from "./expiry.ts";

const PAST = { expiresAt: new Date(START.getTime() - 1000).toISOString() };
const SOON = { expiresAt: new Date(START.getTime() + 60_000).toISOString() };

/** Its id is older than itself. */
const OLD_ID = "0193a0f0-0000-7000-8000-0000000000e1";
const BEFORE = { expiresAt: new Date(START.getTime() - 60_000).toISOString() };

function withMetadata(fixture: ClusterFixture, metadata: Partial<Cluster["metadata"]>): ClusterFixture {
  const { cluster } = fixture.observed;
  return fixture.with({ cluster: { ...cluster, metadata: { ...cluster.metadata, ...metadata } } });
}

const poolsOf = (fixture: ClusterFixture) => [...readTopologyPools(fixture.observed.capi?.object).keys()];
const statusOf = (fixture: ClusterFixture) => fixture.observed.cluster.status;

describe("of a cluster that is past its end", () => {
  test("at its first reconcile nothing is made, and it says why", () => {
    const plan = aCluster(PAST).plan();
    expect([plan.write, plan.remove]).toEqual([[], []]);
    expect(plan.status?.phase).toBe("Failed");
    const stalled = findCondition(plan.status?.conditions, "Stalled");
    expect(stalled).toMatchObject({ status: "True", reason: "Expired" });
    expect(stalled?.message).toContain(`spec.expiresAt ${PAST.expiresAt}`);
  });

  test("everything is made once the end is moved ahead", () => {
    const plan = aCluster(PAST).reconciled().withSpec(SOON).plan();
    expect(plan.write.map(({ kind }) => kind)).toContain(capiClusterKind);
  });

  test("what runs runs on, and its pools are still changed, until it is deleted", () => {
    const running = aCluster().withPools(makePool("web")).ready().withSpec(PAST).reconciled();
    expect([statusOf(running)?.phase, poolsOf(running)]).toEqual(["Ready", ["web"]]);
    expect(running.plan().remove).toEqual([]);
  });

  test("what was lost is made again on request, with the pools that were ready", () => {
    const pools = [makePool("web", PAST), makePool("new", PAST)];
    const running = aCluster().withPools(makePool("web")).ready().withSpec(PAST);
    const [kept, ...others] = running.withPools(...pools).observed.pools;
    const status = { firstReadyAt: START.toISOString() };
    const lost = running.with({
      capi: undefined,
      pools: [kept && { ...kept, pool: { ...kept.pool, status } }, ...others].flatMap((one) => one ?? []),
    });
    expect(lost.plan().write).toEqual([]);
    expect(findCondition(lost.plan().status?.conditions, "Stalled")?.reason).toBe("InfrastructureLost");
    expect(
      poolsOf(withMetadata(lost, { annotations: { [ANNOTATION_RECREATE]: CLUSTER_ID } }).reconciled()),
    ).toEqual(["web"]);
  });
});

describe("a pool that is past its end", () => {
  test("is left out of its cluster, which does not wait for it", () => {
    const made = aCluster().withPools(makePool("web"), makePool("old", PAST)).ready();
    expect(poolsOf(made)).toEqual(["web"]);
    expect(findCondition(statusOf(made)?.conditions, "Stalled")).toBeUndefined();
  });

  test("stays in its cluster when it was there before", () => {
    const running = aCluster().withPools(makePool("web", SOON)).ready().after(120);
    expect(poolsOf(running.reconciled())).toEqual(["web"]);
  });
});

describe("what keeps an object after its end is a condition and an event, each once:", () => {
  const held = aCluster()
    .ready()
    .withSpec({ ...PAST, deletionProtection: true });

  test("the protection of a cluster", () => {
    const plan = held.plan();
    const condition = findCondition(plan.status?.conditions, "ExpiryHeld");
    expect(condition).toMatchObject({ status: "True", reason: "DeletionProtected" });
    expect(plan.status?.message).toBe(condition?.message);
    expect(plan.events.map(({ reason }) => reason)).toEqual(["ExpiryHeld"]);
    expect(held.reconciled().after(600).plan()).toMatchObject({ status: undefined, events: [] });
    const changed = withMetadata(held.reconciled(), { labels: { [LABEL_ID]: OLD_ID } })
      .withSpec(BEFORE)
      .plan();
    expect(changed.events.map(({ note }) => note)).toEqual([
      expect.stringContaining("came back from a backup"),
    ]);
    const lifted = held.reconciled().withSpec({ deletionProtection: false }).plan();
    expect(findCondition(lifted.status?.conditions, "ExpiryHeld")).toBeUndefined();
  });

  test("the protection of a pool, and the suspension of its cluster", () => {
    const pool = aPool().withNodes(2).reconciled();
    const reasonOf = (fixture: typeof pool) =>
      findCondition(fixture.reconciled().status()?.conditions, "ExpiryHeld")?.reason;
    expect(reasonOf(pool.withSpec({ ...PAST, deletionProtection: true }))).toBe("DeletionProtected");
    const suspended = pool.withSpec(PAST).withCluster({ suspended: true });
    expect(reasonOf(suspended)).toBe("Suspended");
    expect(JSON.stringify(suspended.plan().status)).not.toContain("set spec.expiresAt");
    const changed = pool
      .withSpec({ ...PAST, deletionProtection: true })
      .reconciled()
      .withCluster({ suspended: true });
    expect(changed.plan().events.map(({ reason }) => reason)).toEqual(["ExpiryHeld"]);
    expect(changed.reconciled().plan().events).toEqual([]);
    expect(reasonOf(pool.withSpec(PAST))).toBeUndefined();
    expect(reasonOf(pool.withSpec({ ...SOON, deletionProtection: true }))).toBeUndefined();
  });
});

test("what came back from a backup after its end is kept, and one whose end is later is not", () => {
  const restored = withMetadata(aCluster().ready(), { labels: { [LABEL_ID]: OLD_ID } });
  const findHeld = (spec: { expiresAt: string }) =>
    findCondition(restored.withSpec(spec).after(61).plan().status?.conditions, "ExpiryHeld");
  expect(findHeld(BEFORE)).toMatchObject({ status: "True", reason: "Restored" });
  expect(findHeld(BEFORE)?.message).toContain("Delete it, or set spec.expiresAt to a later time.");
  expect([findHeld(PAST), findHeld(SOON)]).toEqual([undefined, undefined]);
});

test("an object is looked at again at its end, and within a day where that is far away", () => {
  const settled = aCluster().ready().withSpec(SOON).reconciled();
  expect(settled.plan().requeueAfterMs).toBeLessThanOrEqual(60_000);
  const far = aCluster().ready().withSpec({ expiresAt: "2099-01-01T00:00:00Z" }).reconciled();
  expect(far.plan().requeueAfterMs).toBeLessThanOrEqual(86_400_000);
  expect(aPool(SOON).reconciled().plan().requeueAfterMs).toBeLessThanOrEqual(60_000);
});

const labelled = { isLabelled: true, isDeleting: false };

test("what is protected says how far: a pool goes with its cluster", () => {
  const cluster = aCluster().withSpec({ deletionProtection: true }).observed.cluster;
  const pool = makePool("web", { deletionProtection: true });
  expect(decideProtection("cluster", cluster, labelled)).toMatchObject([
    { status: "True", message: expect.stringMatching(/cannot be deleted\.$/) },
  ]);
  expect(decideProtection("node pool", pool, labelled)).toMatchObject([
    { status: "True", message: "The node pool web can only be deleted together with its cluster." },
  ]);
});

test("left in Namespaces that are being deleted is what is protected there and not deleted itself", () => {
  const deletionTimestamp = START.toISOString();
  const namespaces = {
    get: (name: string) =>
      ({ metadata: { name, ...(name === "gone" && { deletionTimestamp }) } }) as Namespace,
  };
  const inside = (namespace: string, deletionProtection: boolean, metadata: object = {}) => {
    const pool = makePool("web", { deletionProtection });
    return { ...pool, metadata: { ...pool.metadata, namespace, ...metadata } };
  };
  const left = [inside("gone", true), inside("gone", true)];
  const others = [inside("gone", false), inside("gone", true, { deletionTimestamp }), inside("alive", true)];
  expect(countLeftInDeleted([...left, ...others], namespaces)).toBe(left.length);
});
