import { expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { type Cluster, type ClusterStatus, clusterKind } from "../../shared/crd/cluster.ts";
import {
  LABEL_CLUSTER_ID,
  LABEL_ORG_ID,
  VERSION_CATALOGUE_CONFIG_MAP,
  VERSION_CATALOGUE_KEY,
} from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { CLUSTER_ID, NAMESPACE, ORG, settings } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { ANNOTATION_PAUSED } from "./children.ts";
import { createRejections } from "./rejections.ts";
import { type ClusterDeps, runCluster } from "./run.ts";
import { makeRunContext, makeRunDeps, showPlatform } from "./testing-run.ts";

const rejected = new KubeError({
  status: 403,
  reason: "Forbidden",
  kubeMessage: 'clusters.cluster.x-k8s.io "demo" is forbidden: denied by policy',
});

/** A suspension has paused it in Cluster API. */
function paused(fixture: ClusterFixture): ClusterFixture {
  const object = fixture.capiObject();
  const annotations = { ...object.metadata.annotations, [ANNOTATION_PAUSED]: "true" };
  return fixture.withCapi({ ...object, metadata: { ...object.metadata, annotations } });
}

/** Reconciles the cluster of a fixture, as the caches show it, with a client that takes every write but those given. */
async function runWith(
  fixture: ClusterFixture,
  failing: Partial<KubeClient>,
  remembered: Partial<ClusterDeps> = {},
) {
  const { cluster, catalogue } = fixture.observed;
  const statuses: ClusterStatus[] = [];
  const events: RecordedEvent[] = [];
  const logged: { level: string }[] = [];
  const accept = () => Promise.resolve({ metadata: {} });
  const client = {
    apply: (kind: unknown, object: Cluster) => {
      if (kind === clusterKind) statuses.push(object.status ?? {});
      return accept();
    },
    jsonPatch: accept,
    mergePatch: accept,
    delete: accept,
    ...failing,
  } as unknown as KubeClient;
  const write = (level: string) => (fields: object) => logged.push({ ...fields, level });
  const log = { warn: write("warn"), info: write("info") };
  const deps = { ...makeRunDeps(client, () => fixture.now), log, ...remembered };
  const { caches } = deps;
  const capiCluster = fixture.capiObject();
  const { uid: capiUid = "" } = capiCluster.metadata;
  showPlatform(caches, { name: NAMESPACE, labels: { [LABEL_ORG_ID]: ORG } }, { name: "standard-v1" });
  const namespace = settings.platformNamespace;
  caches.catalogues.set({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: VERSION_CATALOGUE_CONFIG_MAP },
    data: { [VERSION_CATALOGUE_KEY]: JSON.stringify(catalogue) },
  });
  caches.subnetAllocations.set({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: "subnet-10-64-3-0", labels: { [LABEL_CLUSTER_ID]: CLUSTER_ID } },
    data: { subnet: cluster.status?.workerSubnet ?? "", engine: capiUid },
  });
  caches.clusters.set(cluster);
  caches.capiClusters.set(capiCluster);
  const recorder = { record: (event: RecordedEvent) => events.push(event) };
  const result = await runCluster(deps, objectKey(cluster), { ...makeRunContext(client), recorder });
  return { result, statuses, events, logged };
}

test("a rejected deletion says why it waits, with a Warning and the whole error in the log, and is tried again in a minute", async () => {
  const fixture = aCluster().ready().deleting();
  const { result, statuses, events, logged } = await runWith(fixture, {
    delete: () => Promise.reject(rejected),
  });
  expect(result).toEqual({ requeueAfterMs: 60_000 });
  const [status] = statuses;
  expect(statuses).toHaveLength(1);
  expect(status?.message).toMatch(/^Deletion waits\. Cluster API rejects it: denied by policy\. Ask /);
  expect(findCondition(status?.conditions, "Stalled")).toMatchObject({ reason: "RejectedByClusterAPI" });
  const warnings = events.filter(({ type }) => type === "Warning");
  expect(warnings).toMatchObject([{ reason: "RejectedByClusterAPI", note: status?.message }]);
  expect(logged).toMatchObject([{ cluster: `${NAMESPACE}/demo`, err: { cause: rejected } }]);
});

test.each([
  ["suspension", (fixture: ClusterFixture) => fixture.withSpec({ suspend: true })],
  ["resumption", paused],
])(
  "a patch of Cluster API that is rejected at the %s of a cluster is no fault of its specification",
  async (what, act) => {
    const jsonPatch = () => Promise.reject(rejected);
    const { statuses, logged } = await runWith(act(aCluster().ready()), { jsonPatch });
    const message = `Cluster API rejects the ${what} of the cluster: denied by policy. Ask the platform's operator to look at the cluster.`;
    const stalled = { reason: "RejectedByClusterAPI", message };
    expect(findCondition(statuses[0]?.conditions, "Stalled")).toMatchObject(stalled);
    expect(logged).toMatchObject([{ level: "warn" }]);
  },
);

test.each([
  ["what a tenant has specified", "info", 422, "spec.topology.version: it is too new"],
  ["what its quota does not allow", "info", 403, "exceeded quota: small"],
  ["a rollout that another waits for", "info", 422, "version cannot be changed while it rolls out"],
  [
    "taints, which the platform does not allow",
    "warn",
    422,
    "feature gate MachineTaintPropagation is disabled",
  ],
  ["a policy of the platform", "warn", 403, "denied by policy"],
])("a change that Cluster API rejects for %s is logged as %s", async (_, level, status, kubeMessage) => {
  const reason = status === 422 ? "Invalid" : "Forbidden";
  const error = new KubeError({ status, reason, kubeMessage });
  const apply = (kind: unknown) =>
    kind === clusterKind ? Promise.resolve({ metadata: {} }) : Promise.reject(error);
  const fixture = aCluster().ready().withSpec({ version: "1.35" });
  const { logged } = await runWith(fixture, { apply } as unknown as Partial<KubeClient>);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line.level !== level)).toEqual([]);
});

test("a rejected part whose time ends during a run is tried again all the same", async () => {
  let nowMs = 0;
  const fixture = aCluster().ready();
  const rejections = createRejections(() => nowMs);
  // The run records it, and has read the clock for the last time before its minute ends.
  const find: typeof rejections.find = (key, observed) => {
    const found = rejections.find(key, observed);
    nowMs = 60_000;
    return found;
  };
  rejections.record(`${NAMESPACE}/demo`, fixture.observed, new Map([["machine web", "no"]]));
  nowMs = 59_999;
  const { result } = await runWith(fixture, {}, { rejections: { ...rejections, find } });
  expect(result?.requeueAfterMs).toBeLessThanOrEqual(1);
});

test("a rejected resumption is not taken for a rejection of the upgrade that was to follow it", async () => {
  const fixture = paused(aCluster().ready()).withSpec({ version: "1.35" });
  let attempts = 0;
  const jsonPatch = () => {
    attempts += 1;
    return Promise.reject(rejected);
  };
  const { statuses } = await runWith(fixture, { jsonPatch });
  expect(attempts).toBe(1);
  const upgrading = findCondition(statuses[0]?.conditions, "Upgrading");
  expect(upgrading?.message).toMatch(/^Upgrading from 1\.34\.2 to 1\.35\.1: waiting to start/);
});

test("a rejected upgrade is left out, and the rest is applied", async () => {
  const sent: (string | undefined)[] = [];
  const fixture = aCluster().ready().withSpec({ version: "1.35" });
  const statuses: ClusterStatus[] = [];
  const apply = (kind: unknown, object: { spec?: { topology?: { version: string } }; status?: object }) => {
    if (kind === clusterKind) statuses.push(object.status ?? {});
    else sent.push(object.spec?.topology?.version);
    const isUpgrade = object.spec?.topology?.version === "v1.35.1";
    return isUpgrade ? Promise.reject(rejected) : Promise.resolve({ metadata: {} });
  };
  await runWith(fixture, { apply } as unknown as Partial<KubeClient>);
  expect(sent).toEqual(["v1.35.1", "v1.34.2"]);
  expect(findCondition(statuses[0]?.conditions, "Stalled")).toMatchObject({ reason: "RejectedByClusterAPI" });
});
