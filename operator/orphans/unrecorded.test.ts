import { expect, test } from "vitest";
import { LABEL_ID, LABEL_ORG_ID, UNRECORDED_KEY } from "../../shared/crd/names.ts";
import {
  MAX_UNRECORDED,
  readUnrecorded,
  type UnrecordedUse,
  writeUnrecorded,
} from "../../shared/crd/published-config.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { LABEL_CAPI_CLUSTER, LABEL_CAPI_POOL } from "../capi/kinds.ts";
import {
  decideUnrecorded,
  findOrphanedClusters,
  findUnrecordedMachines,
  watchUnrecorded,
} from "./unrecorded.ts";

const NOW = new Date("2026-01-01T00:10:00Z");
const MARINAS = { [LABEL_ID]: "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c11" };
const ANOTHERS = { [LABEL_ID]: "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c12" };
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

test.each<[string, number, KubeObject]>([
  ["that a pool lists", 0, make("listed", { labels: ofPool })],
  ["that no pool lists", 1, make("hidden", { labels: ofPool })],
  ["of this minute", 0, make("young", { labels: ofPool, creationTimestamp: "2026-01-01T00:09:30Z" })],
  ["of a control plane", 0, make("control-plane", { labels: { [LABEL_CAPI_CLUSTER]: "shop" } })],
  [
    "of a cluster that is not Marina's",
    0,
    make("foreign", { labels: { ...ofPool, [LABEL_CAPI_CLUSTER]: "other" } }),
  ],
  [
    "of an organization whose Cluster of Cluster API is gone",
    1,
    make("left", { labels: { ...ofPool, [LABEL_CAPI_CLUSTER]: "gone" } }),
  ],
  [
    "of no organization whose Cluster of Cluster API is gone",
    0,
    make("left", { namespace: "other", labels: { ...ofPool, [LABEL_CAPI_CLUSTER]: "gone" } }),
  ],
])("a machine %s counts as unrecorded: %i", (_what, count, machine) => {
  const caches = {
    clusters: cache(),
    nodePools: cache(make("web", {}, { machines: [{ uid: "listed" }] })),
    capiClusters: cache(make("shop", { labels: MARINAS }), make("other")),
    machines: cache(machine),
    namespaces: cache(makeNamespace("org-1", { [LABEL_ORG_ID]: "1" }), makeNamespace("other")),
  };
  expect(findUnrecordedMachines(caches, NOW)).toHaveLength(count);
});

test.each([
  { what: "with an id of Marina and without a Cluster", labels: MARINAS, isOrphaned: true },
  {
    what: "that its Cluster owns",
    labels: MARINAS,
    cluster: make("shop", { labels: MARINAS }),
    isOrphaned: false,
  },
  {
    what: "whose name another Cluster has",
    labels: MARINAS,
    cluster: make("shop", { labels: ANOTHERS }),
    isOrphaned: true,
  },
  {
    what: "whose Cluster others keep though its finalizer was taken away by force",
    labels: MARINAS,
    cluster: make("shop", {
      labels: MARINAS,
      deletionTimestamp: NOW.toISOString(),
      finalizers: ["a.test/keep"],
    }),
    isOrphaned: true,
  },
  { what: "without an id", isOrphaned: false },
  { what: "with an empty id", labels: { [LABEL_ID]: "" }, isOrphaned: false },
  { what: "with another text for its id", labels: { [LABEL_ID]: "x".repeat(63) }, isOrphaned: false },
])("a cluster of Cluster API $what counts as orphaned: $isOrphaned", ({ labels, cluster, isOrphaned }) => {
  const capiClusters = cache(make("shop", labels && { labels }));
  const clusters = cluster === undefined ? cache() : cache(cluster);
  expect(findOrphanedClusters({ capiClusters, clusters })).toHaveLength(isOrphaned ? 1 : 0);
});

const ID = MARINAS[LABEL_ID];
const CLUSTER: UnrecordedUse = { kind: "cluster", subject: ID };
const MACHINE: UnrecordedUse = { kind: "machine", subject: "m" };
const machine = make("m", { labels: ofPool });
const shop = make("shop", { labels: MARINAS });
const listed = make("web", {}, { machines: [{ uid: "m" }] });
const GONE_AT = "2026-01-01T00:10:00Z";

test.each<{
  what: string;
  last?: UnrecordedUse[];
  running: KubeObject[];
  records?: { clusters?: KubeObject[]; pools?: KubeObject[] };
  published: UnrecordedUse[];
}>([
  { what: "what runs, without its Cluster", running: [shop, machine], published: [CLUSTER, MACHINE] },
  {
    what: "a machine whose pool is gone, and not its cluster",
    running: [shop, machine],
    records: { clusters: [shop] },
    published: [MACHINE],
  },
  {
    what: "nothing that is recorded again",
    last: [CLUSTER, MACHINE],
    running: [shop, machine],
    records: { clusters: [shop], pools: [listed] },
    published: [],
  },
  {
    what: "when it was first seen to be gone",
    last: [CLUSTER, MACHINE],
    running: [],
    published: [
      { ...CLUSTER, goneAt: GONE_AT },
      { ...MACHINE, goneAt: GONE_AT },
    ],
  },
  {
    what: "the first such time, also after a restart",
    last: [{ ...MACHINE, goneAt: "2026-01-01T00:02:00Z" }],
    running: [],
    published: [{ ...MACHINE, goneAt: "2026-01-01T00:02:00Z" }],
  },
  {
    what: "nothing that has been gone for a day",
    last: [{ ...MACHINE, goneAt: "2025-12-31T00:09:00Z" }],
    running: [],
    published: [],
  },
  {
    what: "as running what was thought to be gone",
    last: [{ ...MACHINE, goneAt: "2026-01-01T00:02:00Z" }],
    running: [shop, machine],
    records: { clusters: [shop] },
    published: [MACHINE],
  },
])("of what runs unrecorded is published: $what", ({ last = [], running, records = {}, published }) => {
  const caches = {
    clusters: cache(...(records.clusters ?? [])),
    nodePools: cache(...(records.pools ?? [])),
    capiClusters: cache(...running.filter((object) => object === shop)),
    machines: cache(...running.filter((object) => object === machine)),
    namespaces: cache(makeNamespace("org-1", { [LABEL_ORG_ID]: "1" })),
  };
  expect(decideUnrecorded(caches, last, NOW)).toEqual(published);
});

test.each([
  { what: "another Cluster takes the name of an orphan", kind: "clusters", type: "added", labels: ANOTHERS },
  { what: "a Cluster is lost", kind: "clusters", type: "deleted", labels: MARINAS },
  {
    what: "an orphan ends whose name another Cluster has",
    kind: "capiClusters",
    type: "deleted",
    labels: MARINAS,
  },
])("what runs unrecorded is decided again when $what", ({ kind, type, labels }) => {
  const clusters = cache(make("shop", { labels: ANOTHERS }));
  const listeners: Record<string, (change: object) => void> = {};
  const keys: string[] = [];
  const set = {
    caches: { clusters, capiClusters: cache(make("shop", { labels: MARINAS })) },
    listen: (name: string, listener: (change: object) => void) => {
      listeners[name] = listener;
    },
  };
  watchUnrecorded(set as unknown as CacheSet, { add: (key) => keys.push(key) });
  listeners[kind]?.({ type, object: make("shop", { labels }), initial: false });
  expect(keys).toEqual(["unrecorded"]);
});

test("what names no use is left out of what is read, and the other entries are not", () => {
  const entries = [CLUSTER, { ...CLUSTER, subject: "" }, { ...CLUSTER, kind: "volume" }, null];
  expect(readUnrecorded({ data: { [UNRECORDED_KEY]: JSON.stringify(entries) } })).toEqual([CLUSTER]);
});

test("what is published fits into a ConfigMap", () => {
  const use = { kind: "machine" as const, subject: ID, goneAt: "2026-01-01T00:10:00.000Z" };
  const data = writeUnrecorded(Array.from({ length: 2 * MAX_UNRECORDED }, () => use));
  expect(JSON.stringify(data).length).toBeLessThan(1_048_576);
  expect(readUnrecorded({ data })).toHaveLength(MAX_UNRECORDED);
});
