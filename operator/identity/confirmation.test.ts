import { expect, test } from "vitest";
import { ANNOTATION_IDENTITY, ANNOTATION_RECREATE, FINALIZER, LABEL_ID } from "../../shared/crd/names.ts";
import { aPool } from "../node-pool/testing.ts";
import { makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";

const ID = "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c11";

/** A cluster that came with its id, and the confirmation of Marina's API server if any. */
function came(confirmation?: string, annotations: Record<string, string> = {}): ClusterFixture {
  const fixture = aCluster();
  const { cluster } = fixture.observed;
  const marks = {
    ...annotations,
    ...(confirmation === undefined ? {} : { [ANNOTATION_IDENTITY]: confirmation }),
  };
  const metadata = { ...cluster.metadata, labels: { [LABEL_ID]: ID }, annotations: marks };
  return fixture.with({ cluster: { ...cluster, metadata } });
}

function reasonOf(fixture: ClusterFixture): string | undefined {
  const conditions = fixture.plan().status?.conditions ?? [];
  return conditions.find(({ type, status }) => type === "Stalled" && status === "True")?.reason;
}

test.each([
  { what: "without a confirmation", fixture: came(), reason: "WaitingForIdentity", phase: "Failed" },
  ...["new", "known", "new uid-other", "known uid-other"].map((of) => ({
    what: `from a backup with the confirmation "${of}"`,
    fixture: came(of),
    reason: "WaitingForIdentity",
    phase: "Failed",
  })),
  { what: "that is refused", fixture: came("refused"), reason: "DuplicateID", phase: "Failed" },
  {
    what: "that is known, of which nothing is left",
    fixture: came("known uid-demo"),
    reason: "InfrastructureLost",
    phase: "Degraded",
  },
  {
    what: "that is known, to be recreated with another id",
    fixture: came("known uid-demo", { [ANNOTATION_RECREATE]: "x" }),
    reason: "InfrastructureLost",
    phase: "Degraded",
  },
])(
  "a cluster with an id $what gets no machine, no id in its status, and the finalizer",
  ({ fixture, reason, phase }) => {
    const plan = fixture.plan();
    expect(reasonOf(fixture)).toBe(reason);
    expect(plan.status?.phase).toBe(phase);
    const transitions = plan.status?.transitions?.map(({ type }) => type);
    expect(transitions).toEqual([phase]);
    expect([plan.write, plan.remove]).toEqual([[], []]);
    expect(plan.status?.id).toBeUndefined();
    expect(plan.metadata).toEqual({ finalizer: FINALIZER });
  },
);

test.each([
  { what: "that is new", fixture: came("new uid-demo") },
  { what: "that is to be recreated", fixture: came("known uid-demo", { [ANNOTATION_RECREATE]: ID }) },
])(
  "a cluster with an id $what is made, and its confirmations are removed once its status has the id",
  ({ fixture }) => {
    expect(fixture.plan().write.length).toBeGreaterThan(0);
    expect(fixture.plan().status?.id).toBe(ID);
    const { annotations } = fixture.reconciled().reconciled().observed.cluster.metadata;
    expect(annotations).toEqual({});
  },
);

test("a confirmation from a backup counts for nothing once the status has the id", () => {
  const { cluster } = came("refused").observed;
  const accepted = aCluster().with({ cluster: { ...cluster, status: { id: ID } } });
  expect(reasonOf(accepted)).toBeUndefined();
});

test("a cluster that lost its labels in a replace gets them again from its status", () => {
  const { labels: _, ...metadata } = aCluster().observed.cluster.metadata;
  const { cluster } = aCluster().observed;
  const replaced = aCluster().with({
    cluster: { ...cluster, metadata, status: { id: ID } },
    candidateId: ID,
  });
  expect(replaced.plan().metadata?.labels).toMatchObject({ [LABEL_ID]: ID });
  expect(replaced.plan().metadata?.annotations).toBeUndefined();
});

test.each([
  { confirmation: undefined, isMade: false },
  { confirmation: "refused", isMade: false },
  { confirmation: "known", isMade: false },
  { confirmation: "known uid-other", isMade: false },
  { confirmation: "new uid-other", isMade: false },
  { confirmation: "known uid-web", isMade: true },
  { confirmation: "new", isMade: true },
])(
  "a pool that came with an id and the confirmation $confirmation is made: $isMade",
  ({ confirmation, isMade }) => {
    const pool = makePool(
      "web",
      {},
      { annotations: confirmation === undefined ? {} : { [ANNOTATION_IDENTITY]: confirmation } },
    );
    const plan = aCluster().withPools(pool).after(60).plan();
    const applied = JSON.stringify(plan.write);
    expect(applied.includes('"name":"web"')).toBe(isMade);
  },
);

test("a pool that waits for the confirmation about its id says so", () => {
  const pool = aPool().with({ machineDeployment: undefined });
  const { metadata } = pool.observed.pool;
  const waiting = pool.with({ pool: { ...pool.observed.pool, metadata: { ...metadata, annotations: {} } } });
  expect(waiting.condition("Stalled")?.reason).toBe("WaitingForIdentity");
  expect(waiting.plan().status?.id).toBeUndefined();
});
