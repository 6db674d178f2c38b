import { expect, test } from "vitest";
import type { StepError } from "../../shared/controller/plan.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { RunContext } from "../caches.ts";
import { aCluster } from "../cluster/testing.ts";
import { type ClusterProfile, composeClusterProfile, syncClusterProfile } from "./cluster-profile.ts";

const cluster = aCluster({ displayName: "Demo" });
const BASIS = { clusterId: "id", server: "https://demo.test", caCertificate: "CA" };
const desired = composeClusterProfile(cluster, BASIS, { namespace: "org", name: "secret" });
const key = objectKey(cluster);
const withUid: ClusterProfile = { ...desired, metadata: { ...desired.metadata, uid: "live" } };
const ofAnother: ClusterProfile = { ...withUid, spec: { clusterManager: { name: "another" } } };

/** Synchronizes with what the Kubernetes API has, or rejects with; what was written, in short. */
async function sync(
  live: ClusterProfile | undefined | KubeError,
  wanted: ClusterProfile | undefined,
  prune = (status: NonNullable<ClusterProfile["status"]>) => status,
) {
  const written: string[] = [];
  let now = live;
  const client = {
    get: () => (now instanceof KubeError ? Promise.reject(now) : Promise.resolve(now)),
    apply: async (_: unknown, object: ClusterProfile, { subresource = "" }) => {
      const { resourceVersion } = object.metadata;
      now = { ...object, status: prune(object.status ?? {}) };
      written.push(["apply", subresource, resourceVersion === undefined ? "" : "as new"].join(" ").trim());
      return object;
    },
    delete: async (_kind: unknown, _namespace: string, name: string, { uid = "" }) =>
      void written.push(`delete ${name} ${uid}`),
  };
  const context = { client, onWritten: () => undefined, signal: new AbortController().signal };
  await syncClusterProfile(client as never, key, wanted, context as unknown as RunContext);
  return written;
}

const moved = composeClusterProfile(
  cluster,
  { ...BASIS, server: "https://new.test" },
  { namespace: "org", name: "secret" },
);
const labelled = { ...withUid.metadata, labels: { ...withUid.metadata.labels, team: "a" } };

test.each<[string, ClusterProfile | undefined, ClusterProfile | undefined, string[]]>([
  [
    "there is none: it is created, and then its status",
    undefined,
    desired,
    ["apply  as new", "apply status"],
  ],
  ["it is as it should be: nothing is written", withUid, desired, []],
  ["somebody labelled it: nothing is written", { ...withUid, metadata: labelled }, desired, []],
  ["the address has changed", withUid, moved, ["apply", "apply status"]],
  ["somebody changed it", { ...withUid, status: {} }, desired, ["apply", "apply status"]],
  [
    "it is of a Cluster before a restore",
    { ...withUid, metadata: { ...withUid.metadata, ownerReferences: [] } },
    desired,
    ["apply", "apply status"],
  ],
  // The Kubernetes API refuses the first with a conflict.
  ["another manager has it", ofAnother, desired, ["apply  as new", "apply status"]],
  ["it is wanted no more", withUid, undefined, [`delete ${cluster.metadata.name} live`]],
  ["it is wanted no more, and another manager has it", ofAnother, undefined, []],
  ["it is wanted no more, and gone", undefined, undefined, []],
])("%s", async (_, live, wanted, written) => {
  expect(await sync(live, wanted)).toEqual(written);
});

test("a definition that lacks where the credential is fails the write, though Kubernetes takes it", async () => {
  const prune = (status: NonNullable<ClusterProfile["status"]>) => {
    const { accessProviders: _, ...rest } = status;
    return rest;
  };
  for (const live of [undefined, { ...withUid, status: prune(withUid.status ?? {}) }]) {
    const failure = await sync(live, desired, prune).catch((error: StepError) => error);
    expect(failure).toMatchObject({ step: { verb: "apply" }, cause: { name: "OutdatedDefinitionError" } });
  }
});

test("without the definition nothing is deleted, and the failure of a write says so", async () => {
  const notServed = new KubeError({
    status: 404,
    reason: "NotFound",
    kubeMessage: "the server could not find it",
  });
  expect(await sync(notServed, undefined)).toEqual([]);
  const failure = await sync(notServed, desired).catch((error: StepError) => error);
  expect(failure).toMatchObject({ step: { verb: "apply" }, cause: { isNotFound: true } });
});
