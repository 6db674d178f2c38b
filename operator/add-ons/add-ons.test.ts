import { describe, expect, test } from "vitest";
import { LABEL_ADD_ON, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { type ClusterResourceSet, hashManifests } from "../capi/add-ons.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { observeBlue } from "../cluster/testing.ts";
import { trimToDigest } from "../copies/copy.ts";
import { createTestCaches } from "../testing-caches.ts";
import { type AddOnState, createAddOnObstacles, observeAddOnStates, observeAddOns } from "./observe.ts";
import { reconcileAddOns } from "./reconcile.ts";

const CLASSES = "classes";
const HERE = "org-0195a000-0000-4000-8000-000000000003";

const manifests = (namespace: string, text: string, kind: "source" | "copy"): ConfigMap => {
  const metadata = { namespace, name: "cni", uid: `${namespace}-cni`, labels: { [LABEL_ADD_ON]: kind } };
  const whole = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "cni.yaml": text } };
  return trimToDigest(whole, hashManifests(whole, "utf8"));
};
const makeSet = (spec: ClusterResourceSet["spec"] = {}, metadata = {}): ClusterResourceSet => ({
  apiVersion: "addons.cluster.x-k8s.io/v1beta2",
  kind: "ClusterResourceSet",
  metadata: { namespace: CLASSES, name: "cni", uid: "set", ...metadata },
  spec: {
    strategy: "Reconcile",
    clusterSelector: { matchLabels: { team: "a" } },
    resources: [{ kind: "ConfigMap", name: "cni" }],
    ...spec,
  },
});

const makeClass = (namespace: string, addOns: string) => ({
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "ClusterClass",
  metadata: {
    namespace,
    name: "standard-v1",
    annotations: { "cloud.marina.dev/cluster-resource-sets": addOns },
  },
});
const makeCapi = (
  name: string,
  classNamespace: string,
  labels: Record<string, string> = { team: "a" },
): CapiCluster => ({
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "Cluster",
  metadata: { namespace: HERE, name, labels },
  spec: {
    topology: { classRef: { namespace: classNamespace, name: "standard-v1" }, version: "v1.34.2" },
  },
});

/** A cluster of a class that names this add-on, with the add-on's objects. */
function world({ isNamed = true, labels = { team: "a" } as Record<string, string> } = {}) {
  const caches = createTestCaches();
  const organization = { name: HERE, labels: { [LABEL_ORG_ID]: HERE.replace("org-", "") } };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: organization });
  caches.clusterClasses.set(makeClass(CLASSES, isNamed ? " cni,, cni" : ""));
  const capiCluster = makeCapi("blue", CLASSES, labels);
  caches.capiClusters.set(capiCluster);
  caches.resourceSets.set(makeSet());
  caches.addOnConfigMaps.set(manifests(CLASSES, "one", "source"));
  const plan = () => {
    const found = observeAddOns(caches, HERE);
    if (found === undefined) throw new Error("the Namespace is not observed");
    return reconcileAddOns(found);
  };
  const state = (classNamespace = CLASSES, known = { obstacles: observeAddOns(caches, HERE)?.taken }) => {
    const { capi: own } = observeBlue();
    if (own === undefined) throw new Error("there is no cluster of Cluster API");
    const classRef = { namespace: classNamespace, name: "standard-v1" };
    const seen = {
      ...own,
      object: { ...own.object, metadata: capiCluster.metadata },
      state: { ...own.state, classRef },
    };
    return observeAddOnStates(caches, `${HERE}/blue`, seen, known.obstacles);
  };
  const applied = (resource: object) =>
    caches.resourceSetBindings.set({
      apiVersion: "addons.cluster.x-k8s.io/v1beta2",
      kind: "ClusterResourceSetBinding",
      metadata: { namespace: HERE, name: "blue" },
      spec: {
        bindings: [
          { clusterResourceSetName: "cni", resources: [{ kind: "ConfigMap", name: "cni", ...resource }] },
        ],
      },
    });
  /** The copies are written, and the caches show them. */
  const copy = () => {
    for (const step of plan().write)
      if (step.verb === "apply")
        caches.resourceSets.set({ ...step.object, metadata: { uid: "copy", ...step.object.metadata } });
    const source = caches.addOnConfigMaps.get(`${CLASSES}/cni`);
    const copied = manifests(HERE, "", "copy");
    if (source !== undefined) caches.addOnConfigMaps.set({ ...copied, data: source.data ?? {} });
  };
  return { caches, plan, state, applied, copy };
}

describe("the Namespace of an organization has of the add-ons of its classes", () => {
  test("a copy of each, once, and nothing to do when it is there", () => {
    const { plan, copy } = world();
    expect(plan()).toMatchObject({ write: [{ verb: "apply" }], configMaps: { create: ["cni"] } });
    copy();
    const nothing = { create: [], replace: [], remove: [] };
    const rest = { foreign: [], taken: [] };
    expect(plan()).toEqual({ write: [], remove: [], ...rest, configMaps: nothing, secrets: nothing });
  });

  test("other manifests as soon as their source has them", () => {
    const { caches, plan, copy } = world();
    copy();
    caches.addOnConfigMaps.set(manifests(CLASSES, "two", "source"));
    expect(plan().configMaps).toMatchObject({ create: [], replace: [{ metadata: { namespace: HERE } }] });
  });

  test.each<[string, (caches: Caches) => void]>([
    ["the class names it", (caches) => caches.clusterClasses.remove(`${CLASSES}/standard-v1`)],
    ["there is a cluster", (caches) => caches.capiClusters.remove(`${HERE}/blue`)],
    ["it is there", (caches) => caches.resourceSets.remove(`${CLASSES}/cni`)],
  ])("none when it is not known that %s, and none is removed while the class is unknown", (what, change) => {
    const { caches, plan, copy } = world();
    copy();
    change(caches);
    const isKept = what === "the class names it";
    expect(plan().remove).toHaveLength(isKept ? 0 : 1);
    expect(plan().configMaps.remove).toHaveLength(isKept ? 0 : 1);
  });

  test("a new copy when another selector or strategy is wanted, for neither can be changed", () => {
    const { caches, plan, copy } = world();
    copy();
    caches.resourceSets.set(makeSet({ strategy: "ApplyOnce" }));
    expect(plan()).toMatchObject({ write: [], remove: [{ verb: "delete", namespace: HERE, uid: "copy" }] });
  });

  test("no copy where its class is, and copies of other classes there", () => {
    const { caches, plan } = world();
    caches.clusterClasses.set(makeClass(HERE, "own"));
    caches.resourceSets.set(makeSet({}, { namespace: HERE, name: "own" }));
    caches.capiClusters.set(makeCapi("green", HERE));
    expect(plan().write).toMatchObject([{ object: { metadata: { namespace: HERE, name: "cni" } } }]);
  });

  test.each<[string, string, string]>([
    ["set", "cni", "cni-of-other"],
    ["manifest", "cni-of-other", "cni"],
  ])(
    "of two Namespaces with a %s of one name the first one's alone, and the other is said",
    (_, set, map) => {
      const { caches, plan, copy } = world();
      caches.clusterClasses.set(makeClass("other-classes", set));
      const resources = [{ kind: "ConfigMap" as const, name: map }];
      caches.resourceSets.set(makeSet({ resources }, { namespace: "other-classes", name: set }));
      const other = manifests("other-classes", "other", "source");
      caches.addOnConfigMaps.set({ ...other, metadata: { ...other.metadata, name: map } });
      caches.capiClusters.set(makeCapi("green", "other-classes"));
      const part = set === "cni" ? "ClusterResourceSet" : "ConfigMap";
      const inWay = `other-classes/${set}: another Namespace of classes has the ${part} cni, too; rename one`;
      expect(plan()).toMatchObject({
        write: [{ verb: "apply" }],
        configMaps: { create: ["cni"] },
        taken: [inWay],
      });
      copy();
      const nothing = { create: [], replace: [], remove: [] };
      expect(plan()).toMatchObject({ write: [], configMaps: nothing, taken: [inWay] });
    },
  );

  test("no copy over a set of that name that is none", () => {
    const { caches, plan } = world();
    caches.resourceSets.set(makeSet({}, { namespace: HERE }));
    expect(plan()).toMatchObject({ write: [], remove: [], foreign: ["cni"] });
  });
});

describe("an add-on of a cluster", () => {
  test("waits until Cluster API has applied what it is now", () => {
    const { caches, state, applied, copy } = world();
    const isOne = (one: AddOnState["state"]) => expect(state()).toMatchObject([{ name: "cni", state: one }]);
    isOne("waiting");
    copy();
    isOne("waiting");
    applied({ applied: true, hash: caches.addOnConfigMaps.get(`${HERE}/cni`)?.data?.digest });
    isOne("applied");
    caches.addOnConfigMaps.set(manifests(CLASSES, "two", "source"));
    isOne("waiting");
    copy();
    isOne("waiting");
    applied({ applied: false });
    isOne("failed");
    applied({ applied: true, hash: caches.addOnConfigMaps.get(`${HERE}/cni`)?.data?.digest });
    isOne("applied");
  });

  test("in the Namespace of its class is itself what Cluster API applies", () => {
    const { caches, state, applied } = world();
    const at = (namespace: string) => ({ metadata: { namespace, name: "cni" } });
    caches.clusterClasses.set(makeClass(HERE, "cni"));
    caches.resourceSets.set(makeSet({}, at(HERE).metadata));
    caches.addOnConfigMaps.set(manifests(HERE, "one", "source"));
    applied({ applied: true, hash: caches.addOnConfigMaps.get(`${HERE}/cni`)?.data?.digest });
    expect(state(HERE)).toMatchObject([{ name: "cni", state: "applied" }]);
  });

  test("of a Namespace that comes after another one with the same name is not installed", () => {
    const { caches, state } = world();
    caches.clusterClasses.set(makeClass("other-classes", "cni"));
    caches.resourceSets.set(makeSet({}, { namespace: "other-classes" }));
    caches.addOnConfigMaps.set(manifests("other-classes", "other", "source"));
    caches.capiClusters.set(makeCapi("green", "other-classes"));
    const taken = ["ClusterResourceSet cni", "ConfigMap cni"];
    expect(state("other-classes")).toMatchObject([{ name: "cni", state: "foreign", manifests: taken }]);
    expect(state()).toMatchObject([{ state: "waiting" }]);
  });

  test("is missing, lacks manifests, or has a name that is taken", () => {
    const { caches, state } = world();
    caches.resourceSets.set(makeSet({}, { namespace: HERE }));
    expect(state()).toMatchObject([{ state: "foreign" }]);
    caches.addOnConfigMaps.remove(`${CLASSES}/cni`);
    expect(state()).toMatchObject([{ state: "without-manifests", manifests: ["ConfigMap cni"] }]);
    caches.resourceSets.remove(`${CLASSES}/cni`);
    expect(state()).toMatchObject([{ state: "missing" }]);
  });

  test("has a manifest whose name is taken, which is unknown until it was looked for", () => {
    const { state } = world();
    const looked: string[] = [];
    const obstacles = createAddOnObstacles((namespace) => looked.push(namespace));
    const find = () => state(CLASSES, { obstacles: obstacles.find(HERE) });
    expect(find()).toMatchObject([{ state: "unknown" }]);
    obstacles.record(HERE, new Map());
    expect(find()).toMatchObject([{ state: "waiting" }]);
    const inWay = ["ConfigMap cni"];
    for (const _ of [1, 2]) obstacles.record(HERE, new Map([[`${CLASSES}/cni`, inWay]]));
    expect(find()).toMatchObject([{ state: "foreign", manifests: inWay }]);
    expect(looked).toEqual([HERE, HERE]);
  });

  test("is none of a cluster that it does not select, or of a class that does not name it", () => {
    expect(world({ labels: { team: "b" } }).state()).toEqual([]);
    expect(world({ isNamed: false }).state()).toEqual([]);
  });
});
