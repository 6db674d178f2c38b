import { expect, test } from "vitest";
import { LABEL_ID, LABEL_ORG_ID } from "../shared/crd/names.ts";
import type { KubeObject, ObjectMeta } from "../shared/kube/kind.ts";
import { toKey } from "../shared/kube/object.ts";
import { LABEL_CAPI_CLUSTER, LABEL_CAPI_POOL } from "./capi/kinds.ts";
import { countOrphanedClusters, countUnrecordedMachines } from "./fleet-metrics.ts";

const NOW = new Date("2026-01-01T00:10:00Z");
const MARINAS = { [LABEL_ID]: "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c11" };
const ofPool = { [LABEL_CAPI_CLUSTER]: "shop", [LABEL_CAPI_POOL]: "web" };

const make = (name: string, metadata: Partial<ObjectMeta> = {}, status?: object) => ({
  apiVersion: "v1",
  kind: "Any",
  metadata: { name, namespace: "org-1", uid: name, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
  ...(status && { status }),
});

const makeNamespace = (name: string, labels = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});

function cache(...objects: KubeObject[]) {
  const keyOf = ({ metadata }: KubeObject) => toKey(metadata.namespace, metadata.name);
  const get = (key: string) => objects.find((object) => keyOf(object) === key);
  return { list: () => objects, get } as never;
}

test.each([
  { what: "that a pool lists", machine: make("listed", { labels: ofPool }), count: 0 },
  { what: "that no pool lists", machine: make("hidden", { labels: ofPool }), count: 1 },
  {
    what: "of this minute",
    machine: make("young", { labels: ofPool, creationTimestamp: "2026-01-01T00:09:30Z" }),
    count: 0,
  },
  {
    what: "of a control plane",
    machine: make("control-plane", { labels: { [LABEL_CAPI_CLUSTER]: "shop" } }),
    count: 0,
  },
  {
    what: "of a cluster that is not Marina's",
    machine: make("foreign", { labels: { ...ofPool, [LABEL_CAPI_CLUSTER]: "other" } }),
    count: 0,
  },
  {
    what: "of an organization whose Cluster of Cluster API is gone",
    machine: make("left", { labels: { ...ofPool, [LABEL_CAPI_CLUSTER]: "gone" } }),
    count: 1,
  },
  {
    what: "of no organization whose Cluster of Cluster API is gone",
    machine: make("left", { namespace: "other", labels: { ...ofPool, [LABEL_CAPI_CLUSTER]: "gone" } }),
    count: 0,
  },
])("a machine $what counts as unrecorded: $count", ({ machine, count }) => {
  const caches = {
    clusters: cache(),
    nodePools: cache(make("web", {}, { machines: [{ uid: "listed" }] })),
    capiClusters: cache(make("shop", { labels: MARINAS }), make("other")),
    machines: cache(machine),
    namespaces: cache(makeNamespace("org-1", { [LABEL_ORG_ID]: "1" }), makeNamespace("other")),
  };
  expect(countUnrecordedMachines(caches, NOW)).toBe(count);
});

test("a cluster of Cluster API with an id of Marina and without a Cluster is orphaned", () => {
  const capiClusters = cache(
    make("shop", { labels: MARINAS }),
    make("lost", { labels: MARINAS }),
    make("other"),
  );
  expect(countOrphanedClusters({ capiClusters, clusters: cache(make("shop")) })).toBe(1);
});
