import { describe, expect, test } from "vitest";
import { ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { makePool, START } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";

const applies = (fixture: ClusterFixture) =>
  fixture.plan().apply.filter((step) => step.kind.plural === "clusters").length === 1;

function created(fixture: ClusterFixture, msAgo: number, metadata: Partial<ObjectMeta> = {}): ClusterFixture {
  const { cluster } = fixture.observed;
  const creationTimestamp = new Date(START.getTime() - msAgo).toISOString();
  return fixture.with({
    cluster: { ...cluster, metadata: { ...cluster.metadata, ...metadata, creationTimestamp } },
  });
}

const byTheApi = { annotations: { [ANNOTATION_REQUEST_ID]: "request-1" } };
const withPool = aCluster().withPools(makePool("web"));
/** As a pool is until its own reconcile has taken it in. */
const bare = makePool("web", {}, { finalizers: [] });

describe("a new cluster is created at Cluster API", () => {
  test.each<[string, boolean, ClusterFixture]>([
    ["not within 2 s, since its pools may follow", false, created(aCluster(), 1_999)],
    ["not within 2 s when one pool is there: more may come", false, created(withPool, 0)],
    ["after 2 s, without pools", true, created(aCluster(), 2_000)],
    ["at once when the REST API created it and its pools exist", true, created(withPool, 0, byTheApi)],
    [
      "not at once when the REST API created it and its pools are not in the cache",
      false,
      created(aCluster(), 0, byTheApi),
    ],
    [
      "not at once when the API made it and its pools are not held yet",
      false,
      created(aCluster().withPools(bare), 0, byTheApi),
    ],
    ["at once when its creation timestamp is in the future: a clock is wrong", true, created(aCluster(), -1)],
  ])("%s", (_name, applied, fixture) => {
    expect(applies(fixture)).toBe(applied);
  });

  test("when the wait is over; subnet and status come before", () => {
    const plan = created(aCluster(), 500).plan();
    expect(plan.requeueAfterMs).toBe(1_500);
    expect(plan.apply.map(({ verb, kind }) => `${verb} ${kind.plural}`)).toEqual(["create configmaps"]);
    expect(plan.status).toMatchObject({ observedGeneration: 1, phase: "Provisioning" });
  });
});

describe("a cluster restored from a backup, whose Cluster API Cluster runs", () => {
  const running = withPool.ready();
  const restored = (msAgo: number, fixture: ClusterFixture) => created(fixture, msAgo, { uid: "uid-new" });

  test.each<[string, ClusterFixture]>([
    ["while its NodePools may still be restored", running.withPools()],
    ["while a NodePool has no finalizer yet", running.withPools(bare)],
  ])("takes no pool away that %s", (_name, fixture) => {
    const plan = restored(599_999, fixture).plan();
    expect(plan.apply).toEqual([]);
    expect(plan.remove).toEqual([]);
    expect(plan.requeueAfterMs).toBe(1);
  });

  test.each<[string, ClusterFixture]>([
    ["once its NodePools are there", restored(0, running)],
    ["after ten minutes, whatever is there", restored(600_000, running.withPools())],
  ])("is taken over %s", (_name, fixture) => {
    expect(applies(fixture)).toBe(true);
  });

  test("is not converged before it is taken over", () => {
    const conditions = restored(0, running.withPools()).plan().status?.conditions ?? [];
    expect(conditions.find(({ type }) => type === "Reconciling")?.status).toBe("True");
  });

  test("once taken over loses a pool at once when it is deleted", () => {
    expect(applies(created(running.withPools(), 0))).toBe(true);
  });
});
