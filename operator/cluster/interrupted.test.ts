import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { ANNOTATION_IDENTITY, ANNOTATION_RECREATE, LABEL_ID } from "../../shared/crd/names.ts";
import { capiClusterKind } from "../capi/kinds.ts";
import { CLUSTER_ID, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { stepsOf } from "./testing-plan.ts";

/** What an operator that starts later would choose for an object without an id. */
const OTHER_ID = "0193a0f0-0000-7000-8000-0000000000ff";
/** More than any of these creations takes. */
const MANY_RUNS = 10;

interface Write {
  name: string;
  /** The world after it. */
  after: ClusterFixture;
}

function annotated(annotations: Record<string, string>): ClusterFixture {
  const fixture = aCluster();
  const { cluster } = fixture.observed;
  const metadata = { ...cluster.metadata, labels: { [LABEL_ID]: CLUSTER_ID }, annotations };
  return fixture.with({ cluster: { ...cluster, metadata } });
}

/** Every write until there is nothing left to do, in its order. */
function writesOf(start: ClusterFixture): Write[] {
  const writes: Write[] = [];
  let fixture = start;
  for (let run = 0; run < MANY_RUNS; run++) {
    const plan = fixture.plan();
    const names = [
      ...(plan.metadata === undefined ? [] : ["metadata"]),
      ...stepsOf(plan),
      ...(plan.status === undefined ? [] : ["status"]),
    ];
    if (names.length === 0) return writes;
    const before = fixture;
    writes.push(...names.map((name, index) => ({ name, after: before.interrupted(index + 1) })));
    fixture = fixture.reconciled();
  }
  throw new Error(`it writes for ever: ${writes.map(({ name }) => name).join(", ")}`);
}

/** The operator was killed, and one that knows nothing of it ends what it began. */
function restarted({ after }: Write): ClusterFixture {
  return after.with({ candidateId: OTHER_ID });
}

const CREATION = [
  "metadata",
  "create configmaps",
  "apply clusters",
  "status",
  "metadata",
  "patch configmaps",
];

describe.each<[string, ClusterFixture]>([
  ["that came by kubectl", aCluster()],
  ["that came by REST", annotated({ [ANNOTATION_IDENTITY]: "new" })],
  [
    "that was lost and is created again",
    annotated({ [ANNOTATION_IDENTITY]: "known uid-demo", [ANNOTATION_RECREATE]: CLUSTER_ID }),
  ],
])("an operator killed after any write of the creation of a cluster %s", (_, start) => {
  const writes = writesOf(start);
  const done = writes.at(-1)?.after ?? start;

  test("has made these, the allocation before the cluster and the uid in it after it", () => {
    expect(writes.map(({ name }) => name)).toEqual([...CREATION, ...writes.slice(6).map(() => "status")]);
    expect(done.observed.subnets.own).toMatchObject({ clusterId: CLUSTER_ID, capiUid: "uid-capi" });
  });

  test.each(writes.map((write, index) => [index + 1, write.name, write] as const))(
    "leaves what the next one ends as if it had not been killed: write %i, %s",
    (index, _name, write) => {
      const rest = writesOf(restarted(write));
      const end = rest.at(-1)?.after ?? write.after;
      expect({ ...end.observed, candidateId: "" }).toEqual({ ...done.observed, candidateId: "" });
      const made = [...writes.slice(0, index), ...rest].map(({ name }) => name);
      expect(made.filter((name) => name === "create configmaps" || name === "apply clusters")).toEqual([
        "create configmaps",
        "apply clusters",
      ]);
    },
  );
});

test.each(writesOf(aCluster()).map((write, index) => [index + 1, write.name, write] as const))(
  "what Cluster API made is created again when it is lost before the allocation has its uid, and never after: write %i, %s",
  (index, _, write) => {
    const isNoted = index >= CREATION.indexOf("patch configmaps") + 1;
    const lost = restarted(write).with({ capi: undefined });
    const reason = findCondition(lost.plan().status?.conditions, "Stalled")?.reason;
    expect([reason, stepsOf(lost.plan()).includes("apply clusters")]).toEqual(
      isNoted ? [INFRASTRUCTURE_LOST, false] : [undefined, true],
    );
  },
);

test("a Cluster API cluster is made only where there is none, owned by its Cluster; a change is one of that very object", () => {
  const applyOf = (fixture: ClusterFixture) =>
    fixture.plan().write.find(({ verb, kind }) => verb === "apply" && kind === capiClusterKind);
  const { name, uid } = aCluster().observed.cluster.metadata;
  expect(applyOf(aCluster().reconciled().with({ capi: undefined }))).toMatchObject({
    isNew: true,
    object: { metadata: { ownerReferences: [{ kind: "Cluster", name, uid, controller: true }] } },
  });
  const made = aCluster().ready();
  const object = made.capiObject();
  const known = made.withCapi({ ...object, metadata: { ...object.metadata, uid: "uid-made" } });
  const change = applyOf(known.withPools(makePool("web")));
  expect(change).toMatchObject({ uid: "uid-made" });
  expect(change).not.toHaveProperty("isNew");
});
