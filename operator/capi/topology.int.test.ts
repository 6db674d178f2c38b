import { beforeAll, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { isInSync, withAppliedHash } from "../../shared/controller/applied.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { idleClusterSpec, openTestApi } from "../../shared/crd/testing.ts";
import { CAPABLE } from "../cluster/testing.ts";
import { type CapiCluster, capiClusterKind, clusterClassKind } from "./kinds.ts";
import { composeCapiCluster, type DesiredCluster } from "./topology.ts";
import type { DesiredPool } from "./worker-pool.ts";

const api = setUp(openTestApi);
let classRef: { name: string; namespace: string };
let ownerUid: string;
beforeAll(async () => {
  const [clusterClass] = await api.client.listAll(clusterClassKind, { namespace: CLASS_NAMESPACE });
  classRef = { name: clusterClass?.metadata.name ?? "", namespace: CLASS_NAMESPACE };
  // The garbage collector deletes an object whose owner does not exist.
  const metadata = { name: "owner", namespace: api.namespace };
  const owner = await api.client.create(clusterKind, { metadata, spec: idleClusterSpec }, PERSON);
  ownerUid = owner.metadata.uid ?? "";
});

const CLASS_NAMESPACE = "marina-system";
const ANNOTATION = "cloud.marina.dev/applied";
const OPERATOR = { fieldManager: "marina-operator", force: true };
const PERSON = { fieldManager: "person" };

const pool: DesiredPool = {
  name: "web",
  scale: { kind: "fixed", nodes: 2 },
  liveReplicas: 2,
  machineSize: { vcpus: 2, memoryGB: 4, diskGB: 20 },
  labels: { tier: "web" },
  taints: [],
  drainTimeoutSeconds: 600,
  scaleDownDelaySeconds: 600,
  scaleDownUtilizationPercent: 50,
  volumeDetachTimeoutSeconds: 60,
  nodeDeletionTimeoutSeconds: 10,
};

function compose(change: Partial<DesiredCluster> = {}): CapiCluster {
  const desired: DesiredCluster = {
    namespace: api.namespace,
    name: "owned",
    owner: {
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      name: "owner",
      uid: ownerUid,
    },
    labels: { "cloud.marina.dev/id": "0195a000-0000-7000-8000-000000000001" },
    classRef,
    version: "1.34.2",
    controlPlaneReplicas: 1,
    controlPlaneDeletionTimeouts: pool,
    plan: undefined,
    publicEndpoint: true,
    authorizedCIDRs: undefined,
    apiServerRateLimit: undefined,
    workerSubnet: "10.64.3.0/24",
    clusterNetwork: { pods: ["192.168.0.0/16"], services: ["10.128.0.0/12", "fd00:1::/108"] },
    pools: [pool],
    ...change,
  };
  const capabilities = { ...CAPABLE, variables: new Set(["publicEndpoint", "workerSubnet", "machine"]) };
  return withAppliedHash(composeCapiCluster(desired, capabilities), ANNOTATION);
}

test("fields of other managers are never written, and an identical apply changes nothing", async () => {
  const { client, namespace } = api;
  // Paused by a person, so that nothing but this test writes it.
  const topology = {
    classRef,
    version: "v1.34.2",
    controlPlane: { replicas: 1 },
  };
  const metadata = { name: "owned", namespace, annotations: { "example.com/note": "mine" } };
  await client.create(capiClusterKind, { metadata, spec: { paused: true, topology } }, PERSON);

  await client.apply(capiClusterKind, compose(), OPERATOR);
  // Cluster API writes its own status after a change, at an unknown time.
  const first = await waitFor("an apply that leaves the object in the version that was read", async () => {
    const read = await client.get(capiClusterKind, namespace, "owned");
    const again = await client.apply(capiClusterKind, compose(), OPERATOR);
    return again.metadata.resourceVersion === read?.metadata.resourceVersion ? again : undefined;
  });
  expect(isInSync(compose(), first)).toBe(true);
  for (let round = 0; round < 3; round += 1) {
    const again = await client.apply(capiClusterKind, compose(), OPERATOR);
    expect(again.metadata.generation).toBe(first.metadata.generation);
  }
  expect(first.spec?.paused).toBe(true);
  expect(first.spec?.clusterNetwork).toEqual({
    pods: { cidrBlocks: ["192.168.0.0/16"] },
    services: { cidrBlocks: ["10.128.0.0/12", "fd00:1::/108"] },
  });
  expect(first.metadata.annotations).toMatchObject({ "example.com/note": "mine" });

  const patch = { metadata: { labels: { team: "blue" } } };
  const labelled = await client.mergePatch(capiClusterKind, namespace, "owned", patch, PERSON);
  expect(isInSync(compose(), labelled)).toBe(true);
  const kept = await client.apply(capiClusterKind, compose(), OPERATOR);
  expect(kept.metadata.labels).toMatchObject({ team: "blue" });
});

test("a foreign change of our fields is detected and reverted; fields that we drop are removed", async () => {
  const { client, namespace } = api;
  const path = "/spec/topology/workers/machineDeployments/0/replicas";
  const scaled = await client.jsonPatch(
    capiClusterKind,
    namespace,
    "owned",
    [{ op: "replace", path, value: 5 }],
    PERSON,
  );
  expect(isInSync(compose(), scaled)).toBe(false);
  const mended = await client.apply(capiClusterKind, compose(), OPERATOR);
  expect(mended.spec?.topology?.workers?.machineDeployments?.[0]?.replicas).toBe(2);

  const autoscaled = compose({
    pools: [{ ...pool, scale: { kind: "autoscaled", minNodes: 1, maxNodes: 3 } }],
  });
  expect(isInSync(autoscaled, mended)).toBe(false);
  const switched = await client.apply(capiClusterKind, autoscaled, OPERATOR);
  const [entry] = switched.spec?.topology?.workers?.machineDeployments ?? [];
  expect(entry?.replicas).toBeUndefined();
  expect(entry?.metadata?.labels).toEqual({ tier: "web" });
});
