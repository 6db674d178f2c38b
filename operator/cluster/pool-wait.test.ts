import { describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { truncateStatusMessage } from "../../shared/crd/conditions.ts";
import { ANNOTATION_DELETE_MISSING_POOLS, ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { makePool, START } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { conditionOf, stepsOf } from "./testing-plan.ts";
import { composeMissingPools } from "./waits.ts";

const applies = (fixture: ClusterFixture) =>
  fixture.plan().write.filter((step) => step.kind.plural === "clusters").length === 1;

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
    ["not within 5 s, since its pools may follow", false, created(aCluster(), 4_999)],
    ["not within 2 s when one pool is there: more may come", false, created(withPool, 1_999)],
    ["after 2 s when one pool is there", true, created(withPool, 2_000)],
    [
      "not after 2 s while one of its pools is not accepted yet",
      false,
      created(aCluster().withPools(makePool("db"), bare), 2_000),
    ],
    ["after 5 s, without pools", true, created(aCluster(), 5_000)],
    ["after 5 s, although a pool is not accepted yet", true, created(aCluster().withPools(bare), 5_000)],
    ["at once when the REST API created it and its pools exist", true, created(withPool, 0, byTheApi)],
    [
      "not at once when the REST API created it and its pools are not in the cache",
      false,
      created(aCluster(), 0, byTheApi),
    ],
    [
      "not at once when the API made it and its pools are not accepted yet",
      false,
      created(aCluster().withPools(bare), 0, byTheApi),
    ],
    ["at once when its creation timestamp is in the future: a clock is wrong", true, created(aCluster(), -1)],
  ])("%s", (_name, applied, fixture) => {
    expect(applies(fixture)).toBe(applied);
  });

  test("when the wait is over; subnet and status come before", () => {
    const plan = created(aCluster(), 500).plan();
    expect(plan.requeueAfterMs).toBe(4_500);
    expect(plan.write.map(({ verb, kind }) => `${verb} ${kind.plural}`)).toEqual(["create configmaps"]);
    expect(plan.status).toMatchObject({ observedGeneration: 1, phase: "Provisioning" });
  });
});

describe("a cluster restored from a backup, whose Cluster API Cluster runs", () => {
  const running = withPool.ready();
  const restored = (msAgo: number, fixture: ClusterFixture) => created(fixture, msAgo, { uid: "uid-new" });

  const annotated = (fixture: ClusterFixture) =>
    restored(0, fixture).with({ cluster: annotate(restored(0, fixture).observed.cluster) });

  test.each<[string, ClusterFixture]>([
    ["while its NodePools are not restored", running.withPools()],
    ["while a NodePool has no finalizer yet", running.withPools(bare)],
  ])("takes no pool away %s, whatever the clock says", (_name, fixture) => {
    for (const msAgo of [0, 600_000, 365 * 24 * 3600_000]) {
      const plan = restored(msAgo, fixture).plan();
      expect(plan.write.map(({ verb }) => verb)).toEqual(["patch"]);
      expect(plan.remove).toEqual([]);
      const stalled = plan.status?.conditions?.find(({ type }) => type === "Stalled");
      expect(stalled).toMatchObject({
        status: "True",
        reason: "NodePoolsMissing",
        message: expect.stringContaining("cloud.marina.dev/delete-missing-node-pools=true"),
      });
    }
  });

  test("says the next step in its message, however many pools are missing", () => {
    const names = Array.from({ length: 100 }, (_, index) => `${"a".repeat(36)}-${index}`);
    const { message } = composeMissingPools(names);
    expect(message).toMatch(/^Cluster API runs 100 node pools missing here: .*, and 94 more\. /);
    expect(truncateStatusMessage(message)).toBe(message);
  });

  test("is owned by the new Cluster at once, and taken over only with its pools", () => {
    const [step] = restored(0, running.withPools()).plan().write;
    expect(step).toMatchObject({
      verb: "patch",
      operations: [
        { op: "test" },
        { op: "add", path: "/metadata/ownerReferences", value: [{ uid: "uid-new" }] },
      ],
    });
    // With `controller` it would be taken over.
    expect(JSON.stringify(step)).not.toContain("controller");
    const adopted = owned(restored(0, running.withPools()), { uid: "uid-new" });
    expect(adopted.plan().write).toEqual([]);
    expect(applies(owned(restored(0, running), { uid: "uid-new" }))).toBe(true);
  });

  test.each([
    ["rejected", 60_000],
    ["unavailable", undefined],
  ] as const)("says what it waits for when its owner cannot be changed: %s", (kind, requeueAfterMs) => {
    const waiting = restored(0, running.withPools());
    const { status: _, ...cluster } = waiting.observed.cluster;
    const fixture = waiting.with({ cluster });
    expect(stepsOf(fixture.plan())).toEqual(["patch clusters"]);
    const plan = fixture.with({ applyFailure: { kind, message: "denied by policy" } }).plan();
    expect(stepsOf(plan)).toEqual([]);
    expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason: "WaitingForIdentity" });
    expect(plan.requeueAfterMs).toBe(requeueAfterMs);
  });

  test.each<[string, ClusterFixture]>([
    ["once its NodePools are there", restored(0, running)],
    ["when the annotation says that the others are to be deleted", annotated(running.withPools())],
  ])("is taken over %s", (_name, fixture) => {
    expect(applies(fixture)).toBe(true);
    expect(fixture.plan().write.map(({ verb }) => verb)).toEqual(["apply"]);
  });

  test("loses the annotation once it is taken over: it must not count after another restore", () => {
    const taken = owned(annotated(running), { uid: "uid-new", controller: true });
    expect(taken.plan().metadata?.dropAnnotations).toEqual([ANNOTATION_DELETE_MISSING_POOLS]);
    expect(annotated(running).plan().metadata?.dropAnnotations).toBeUndefined();
  });

  test("once taken over loses a pool at once when it is deleted", () => {
    expect(applies(created(running.withPools(), 0))).toBe(true);
  });
});

function annotate(cluster: Cluster): Cluster {
  const annotations = { ...cluster.metadata.annotations, [ANNOTATION_DELETE_MISSING_POOLS]: "true" };
  return { ...cluster, metadata: { ...cluster.metadata, annotations } };
}

function owned(fixture: ClusterFixture, owner: { uid: string; controller?: boolean }): ClusterFixture {
  const object = fixture.capiObject();
  const reference = { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", name: "demo", ...owner };
  return fixture.withCapi({ ...object, metadata: { ...object.metadata, ownerReferences: [reference] } });
}
