import { describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import { belongsElsewhere } from "../identity/ownership.ts";
import { decideChildren } from "./children.ts";
import { reconcileCluster } from "./reconcile.ts";
import {
  aCluster,
  aClusterPool,
  CAPABLE,
  CLUSTER_ID,
  NAMESPACE,
  NOW,
  observeBlue,
  secondsAgo,
} from "./testing.ts";

const SHARED = new Map([["marina-system/standard-v1", { ...CAPABLE, hasNamesPerNamespace: false }]]);
const WITHOUT_CAPI = { capi: undefined, nameTaken: false };

/** A cluster with the name of `aCluster()` in the Namespace of another organization. */
const namesake = (metadata: object = {}) =>
  aCluster(
    {},
    { metadata: { ...aCluster().metadata, namespace: "org-other", uid: "other-uid", ...metadata } },
  );

describe("on infrastructure where clusters of one name would be one, the name of a new cluster", () => {
  const older = { creationTimestamp: secondsAgo(7200) };
  const younger = namesake({ creationTimestamp: secondsAgo(0) });
  test.each<[string, boolean, Cluster[], Cluster[]]>([
    ["is an older cluster's of another Namespace", true, [namesake(older)], []],
    ["is not a younger cluster's", false, [younger], []],
    ["is that of any cluster that Cluster API has in another Namespace", true, [], [younger]],
    [
      "is not that of an object in its own Namespace",
      false,
      [namesake({ ...older, namespace: NAMESPACE })],
      [],
    ],
    ["is not another name's", false, [namesake({ ...older, name: "blue-2" })], []],
  ])("%s", (_, isElsewhere, clusters, capiClusters) => {
    expect(belongsElsewhere(aCluster(), clusters, capiClusters)).toBe(isElsewhere);
  });

  test("is never refused to both of two clusters of one second, and never given to both", () => {
    const [one, other] = [aCluster(), namesake()];
    expect(belongsElsewhere(one, [one, other], [])).toBe(!belongsElsewhere(other, [one, other], []));
  });
});

describe("a cluster whose name is another Namespace's", () => {
  const elsewhere = { nameElsewhere: true, ...WITHOUT_CAPI };

  test("is not made, and takes nothing, where the infrastructure is found by the name", () => {
    const observed = observeBlue({
      ...elsewhere,
      classes: SHARED,
      locks: { own: undefined, taken: new Set() },
    });
    const plan = reconcileCluster({ ...observed, cluster: aCluster({}, { status: {} }) }, NOW);
    expect([plan.apply, plan.remove]).toEqual([[], []]);
    const decision = decideChildren(observed, CLUSTER_ID, NOW);
    expect(decision).toMatchObject({ ok: false, target: "1.34.2", problem: { reason: "NameTaken" } });
  });

  test("is made where each Namespace has names of its own", () => {
    expect(decideChildren(observeBlue(elsewhere), CLUSTER_ID, NOW).ok).toBe(true);
  });
});

test("what Cluster API has already is applied under its name, whoever else has the name", () => {
  const decision = decideChildren(observeBlue({ classes: SHARED }), CLUSTER_ID, NOW);
  expect(decision).toMatchObject({ ok: true, capiCluster: { metadata: { name: aCluster().metadata.name } } });
});

test.each([
  [2, [], 1_000],
  [3, ["apply"], 0],
])(
  "a cluster that is %i s old is not made before every older one of its name exists",
  (age, verbs, waitMs) => {
    const metadata = {
      ...aCluster().metadata,
      creationTimestamp: secondsAgo(age),
      // By REST, which writes pools first: it waits for none.
      annotations: { [ANNOTATION_IDENTITY]: "new", [ANNOTATION_REQUEST_ID]: "request" },
    };
    const cluster = { ...aCluster(), metadata };
    const pools = [aClusterPool({ capi: undefined, machines: [] })];
    const plan = reconcileCluster(observeBlue({ ...WITHOUT_CAPI, cluster, classes: SHARED, pools }), NOW);
    expect(plan.apply.map(({ verb }) => verb)).toEqual(verbs);
    expect(plan.requeueAfterMs ?? 0).toBeGreaterThanOrEqual(waitMs);
  },
);
