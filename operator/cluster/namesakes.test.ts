import { describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, LABEL_CLUSTER_ID, LABEL_ID } from "../../shared/crd/names.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import { createStore } from "../../shared/kube/store.ts";
import { INDEX_SUBNET_OWNER } from "../indexes.ts";
import { decideChildren } from "./children.ts";
import { isNameTakenAmong } from "./namesakes.ts";
import { reconcileCluster } from "./reconcile.ts";
import { aCluster, CAPABLE, CLUSTER_ID, NAMESPACE, NOW, observeBlue, secondsAgo } from "./testing.ts";

const SHARED = new Map([["marina-system/standard-v1", { ...CAPABLE, hasNamesPerNamespace: false }]]);
const WITHOUT_CAPI = { capi: undefined, nameTaken: false };

/** A cluster with the name of `aCluster()` in the Namespace of another organization. */
const namesake = (metadata: object = {}) =>
  aCluster(
    {},
    {
      metadata: {
        ...aCluster().metadata,
        namespace: "org-other",
        uid: "other-uid",
        annotations: { [ANNOTATION_IDENTITY]: "new other-uid" },
        ...metadata,
      },
    },
  );

const made = { status: { firstReadyAt: secondsAgo(60) } };
const restored = { [ANNOTATION_IDENTITY]: "known other-uid" };
const GONE = { deletionTimestamp: secondsAgo(60), finalizers: ["example.com/keeps"] };

/** The allocation of a cluster's subnet, and what was made on it. */
function locksOf(capiUid?: string) {
  const allocations = createStore<ConfigMap>({ [INDEX_SUBNET_OWNER]: () => [CLUSTER_ID] });
  const metadata = { name: "subnet-10-64-3-0", labels: { [LABEL_CLUSTER_ID]: CLUSTER_ID } };
  const data = { subnet: "10.64.3.0/24", ...(capiUid && { engine: capiUid }) };
  allocations.set({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
  return allocations;
}

describe("on infrastructure where clusters of one name would be one, the name of a new cluster", () => {
  const older = { creationTimestamp: secondsAgo(7200) };
  test.each<[string, boolean, Cluster[], Cluster[]]>([
    ["is not that of a cluster that was never made, however old", false, [namesake(older)], []],
    ["is that of one that was ready before", true, [{ ...namesake(), ...made }], []],
    ["is that of one that was restored", true, [namesake({ annotations: restored })], []],
    ["is that of one whose restore is looked up", true, [namesake({ annotations: {} })], []],
    ["is not that of one that is gone and that others keep", false, [{ ...namesake(GONE), ...made }], []],
    [
      "is not that of a copy with the id of another cluster",
      false,
      [{ ...namesake({ annotations: { [ANNOTATION_IDENTITY]: "refused" } }), status: {} }],
      [],
    ],
    ["is that of any cluster that Cluster API has in another Namespace", true, [], [namesake()]],
    [
      "is not that of an object in its own Namespace",
      false,
      [{ ...namesake({ namespace: NAMESPACE }), ...made }],
      [],
    ],
    ["is not another name's", false, [{ ...namesake({ name: "blue-2" }), ...made }], []],
  ])("%s", (_, isElsewhere, clusters, capiClusters) => {
    expect(isNameTakenAmong(aCluster(), clusters, capiClusters, locksOf())).toBe(isElsewhere);
  });

  test("is that of one that Cluster API had before it was ready", () => {
    const labels = { [LABEL_ID]: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e99" };
    const unmade = aCluster({}, { metadata: { ...aCluster().metadata, labels } });
    expect(isNameTakenAmong(unmade, [namesake()], [], locksOf("capi-uid"))).toBe(true);
  });

  test("is the older one's of two that were made before, as those that were lost", () => {
    const [left, right] = [
      { ...aCluster(), ...made },
      { ...namesake(older), ...made },
    ];
    expect(isNameTakenAmong(left, [right], [], locksOf())).toBe(true);
    expect(isNameTakenAmong(right, [left], [], locksOf())).toBe(false);
  });
});

describe("a cluster whose name is another Namespace's", () => {
  const elsewhere = { nameTakenElsewhere: true, ...WITHOUT_CAPI };

  test("is not made, and takes nothing, where the infrastructure is found by the name", () => {
    const observed = observeBlue({
      ...elsewhere,
      classes: SHARED,
      subnets: { own: undefined, taken: new Set() },
    });
    const plan = reconcileCluster({ ...observed, cluster: aCluster({}, { status: {} }) }, NOW);
    expect([plan.write, plan.remove]).toEqual([[], []]);
    const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
    expect(decision).toMatchObject({ ok: false, target: "1.34.2", problem: { reason: "NameTaken" } });
  });

  test("is made where each Namespace has names of its own", () => {
    expect(decideChildren(observeBlue(elsewhere), undefined, CLUSTER_ID, NOW).ok).toBe(true);
  });
});

test("what Cluster API has already is applied under its name, whoever else has the name", () => {
  const decision = decideChildren(observeBlue({ classes: SHARED }), undefined, CLUSTER_ID, NOW);
  expect(decision).toMatchObject({ ok: true, capiCluster: { metadata: { name: aCluster().metadata.name } } });
});
