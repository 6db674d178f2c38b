import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { USERS } from "../platform/stack/users.ts";
import { makeRequest } from "../testing/credentials.ts";
import {
  capiClusterKind,
  conditionOf,
  createEngineer,
  type Engineer,
  machineKind,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const PIPELINE = "gitops-limits:pipeline";
const CLUSTERS = "clusters.cloud.marina.dev";
const POOLS = "nodepools.cloud.marina.dev";

let place: { orgID: string; clusterID: string };
let engineer: Engineer;
let cluster: string;
let pool: string;

/** A cluster of one node by REST, and a pipeline with the role that the chart has for it. */
beforeAll(async () => {
  const { id: orgID } = expectStatus(
    201,
    await alice.call("createOrganization", { body: { name: "Limits" } }),
  );
  engineer = await createEngineer(stack, orgID);
  const { namespace } = engineer;
  await kubectl([
    "create",
    "rolebinding",
    "pipeline",
    "--clusterrole=marina-gitops",
    `--user=${PIPELINE}`,
    `-n=${namespace}`,
  ]);
  const workers = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 3 };
  const body = { name: "Limits", k8s_version: "1.34.2", node_pools: [workers] };
  const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
  place = { orgID, clusterID };
  cluster = (await engineer.client.listAll(clusterKind, { namespace }))[0]?.metadata.name ?? "";
  pool = (await engineer.client.listAll(nodePoolKind, { namespace }))[0]?.metadata.name ?? "";
  await waitForCluster(engineer, cluster);
});
afterAll(() => engineer?.close());

function asPipeline(...args: string[]): Promise<{ stdout: string }> {
  return kubectl([...args, `--namespace=${engineer.namespace}`, `--as=${PIPELINE}`]);
}

test("a manifest without labels replaces cluster and pool, which keep their ids for REST all the while", async () => {
  for (const [resource, name] of [
    [CLUSTERS, cluster],
    [POOLS, pool],
  ] as const) {
    const { stdout } = await asPipeline("get", resource, name, "-o", "json");
    const live: Cluster = JSON.parse(stdout);
    const id = live.metadata.labels?.[LABEL_ID];
    const manifest = { apiVersion: live.apiVersion, kind: live.kind, metadata: { name }, spec: live.spec };
    const replace = ["replace", "-f", "-", `--namespace=${engineer.namespace}`, `--as=${PIPELINE}`];
    await kubectl(replace, { stdin: JSON.stringify(manifest) });
    await waitFor(`the labels and the finalizer of ${name}`, async () => {
      expectStatus(200, await alice.call("getCluster", place));
      const read = await asPipeline("get", resource, name, "-o", "json");
      const { metadata }: Cluster = JSON.parse(read.stdout);
      return metadata.labels?.[LABEL_ID] === id && metadata.finalizers?.includes("cloud.marina.dev/operator");
    });
  }
});

test("replacing a pool without labels and finalizer, while its cluster changes, costs no node", async () => {
  const { namespace } = engineer;
  const labelSelector = `cluster.x-k8s.io/cluster-name=${cluster}`;
  const readUids = async () =>
    (await engineer.client.listAll(machineKind, { namespace, labelSelector })).map(
      ({ metadata }) => metadata.uid,
    );
  const before = await readUids();
  const { apiVersion, kind, spec } = await engineer.getPool(pool);
  const manifest = JSON.stringify({ apiVersion, kind, metadata: { name: pool }, spec });
  const refused: string[] = [];
  for (const round of Array.from({ length: 15 }).keys()) {
    const rename = `{"spec":{"displayName":"Limits ${round}"}}`;
    const replace = ["replace", "-f", "-", `--namespace=${namespace}`, `--as=${PIPELINE}`];
    await Promise.all([
      asPipeline("patch", CLUSTERS, cluster, "--type=merge", "-p", rename),
      kubectl(replace, { stdin: manifest }).catch((error: unknown) => refused.push(String(error))),
    ]);
  }
  // The operator may write the object between the read and the write of kubectl.
  expect(refused.filter((message) => !message.includes("Conflict"))).toEqual([]);
  await waitForCluster(engineer, cluster);
  expect(await readUids()).toEqual(before);
});

test("a pipeline scales a pool with kubectl, and REST tells the tenant", async () => {
  await asPipeline("scale", `${POOLS}/${pool}`, "--replicas=2");
  await waitFor("REST to show the size", async () => {
    const { items } = expectStatus(200, await alice.call("listNodePools", place));
    return items[0]?.desired_nodes === 2;
  });
});

test("a cluster that is suspended, deleted with its dependents orphaned, is gone everywhere; until then it is shown", async () => {
  await expect(
    asPipeline("patch", CLUSTERS, cluster, "--type=merge", "-p", '{"spec":{"suspend":true}}'),
  ).rejects.toThrow(/spec.suspend is set by the platform/);
  await engineer.patchCluster(cluster, { spec: { suspend: true } });
  await waitFor(
    "the suspension",
    async () => conditionOf(await engineer.getCluster(cluster), "Suspended")?.status === "True",
  );
  await asPipeline("delete", CLUSTERS, cluster, "--cascade=orphan", "--wait=false");
  const release = ["--type=merge", "-p", '{"metadata":{"finalizers":null}}'];
  await expect(asPipeline("patch", CLUSTERS, cluster, ...release)).rejects.toThrow(
    /is removed by Marina when nothing of the object is left|not found/,
  );
  await waitFor("the operator to delete the pool", async () => {
    const found = await engineer.client.get(nodePoolKind, engineer.namespace, pool);
    return found?.metadata.deletionTimestamp !== undefined || found === undefined;
  });
  await expect(asPipeline("patch", POOLS, pool, ...release)).rejects.toThrow(
    /is removed by Marina|not found/,
  );
  const labelSelector = `cluster.x-k8s.io/cluster-name=${cluster}`;
  const { client, namespace } = engineer;
  const hidden: string[] = [];
  await waitFor("nothing to be left", async () => {
    const isHidden = (await alice.call("getCluster", place)).status === 404;
    const object = await client.get(clusterKind, namespace, cluster);
    const machines = await client.listAll(machineKind, { namespace, labelSelector });
    const capiCluster = await client.get(capiClusterKind, namespace, cluster);
    if (machines.length > 0 && isHidden) hidden.push(...machines.map(({ metadata }) => metadata.name));
    return machines.length === 0 && capiCluster === undefined && object === undefined && isHidden;
  });
  expect(hidden).toEqual([]);
  expect(await client.listAll(nodePoolKind, { namespace })).toEqual([]);
});

test.each([
  ["a member of the organization", USERS.alice.email, "WaitingForCluster"],
  ["a member of another one", USERS.bob.email, "AccessRefused"],
  ["the id of a member, which only the API gives", USERS.alice.sub, "AccessRefused"],
])("an access by kubectl that names %s: %s is %s", async (_name, subject, reason) => {
  const { client, namespace } = engineer;
  const metadata = { name: `access-${subject.slice(0, 5).replace(/[@.]/, "")}`, namespace };
  const { csr } = await makeRequest();
  const spec = { clusterName: "absent", subject, ttlSeconds: 600, csr };
  await waitFor("the access to be created", () =>
    client.create(clusterAccessKind, { metadata, spec }, { fieldManager: "test" }),
  );
  const decided = await waitFor("the confirmation", async () => {
    const access = await client.get(clusterAccessKind, namespace, metadata.name);
    const ready = access?.status?.conditions?.find(({ type }) => type === "Ready");
    return ready?.reason === "WaitingForIdentity" ? undefined : ready;
  });
  expect(decided.reason).toBe(reason);
  await client.delete(clusterAccessKind, namespace, metadata.name);
});
