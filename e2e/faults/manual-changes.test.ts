import { afterAll, expect } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { namespaceKind, secretKind } from "../../shared/kube/core-kinds.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, machineDeploymentKind, machineKind } from "../testing/custom-resources.ts";
import { type BareStack, test } from "./bare-stack.ts";
import { createConvergedCluster, getStep } from "./converged-cluster.ts";
import type { OperatorHolder } from "./killable-lifecycle.ts";
import { identify, listLeftovers } from "./lifecycle.ts";

const SOON = { intervalMs: 200 };
const ANNOTATION_AUTHORITY = "cloud.marina.dev/credential-authority";

let bare: BareStack;
let holder: OperatorHolder;

test.beforeAll(async ({ bareStack }) => {
  bare = bareStack;
  holder = { operator: await bare.startOperator() };
});

afterAll(() => holder?.operator.signal("SIGKILL"));

test("the admin kubeconfig stays when the Secret of its CA is touched, and when its annotation is removed", async () => {
  const cluster = await createConvergedCluster(bare);
  const { client, namespace } = cluster.engineer;
  const name = nameAdminSecret("sample");
  const by = { fieldManager: "engineer" };
  const read = () => client.get(secretKind, namespace, name);
  const readAnnotation = async () => (await read())?.metadata.annotations?.[ANNOTATION_AUTHORITY];
  const annotate = (secret: string, annotations: object) =>
    client.mergePatch(secretKind, namespace, secret, { metadata: { annotations } }, by);
  const before = (await read())?.data;
  const first = await readAnnotation();
  await annotate("sample-ca", { touched: "yes" });
  await waitFor("the annotation of the new version", async () => (await readAnnotation()) !== first, SOON);
  await annotate(name, { [ANNOTATION_AUTHORITY]: null });
  await waitFor("the annotation to be restored", readAnnotation, SOON);
  expect((await read())?.data).toEqual(before);
  await cluster.close();
});

/** A patch that removes all of the status but the id, which no user can remove. */
const withoutAllButId = ({ status = {} }: Cluster | NodePool) => ({
  status: Object.fromEntries(Object.keys(status).flatMap((field) => (field === "id" ? [] : [[field, null]]))),
});

test("a status that was cleared by hand is rebuilt: same subnet, same id, no rollout", async () => {
  // What a status said before it was cleared is told again.
  const cluster = await createConvergedCluster(bare, { tolerated: /: another Event says the same$/ });
  const { engineer, identities } = cluster;
  const { client, namespace } = engineer;
  const generations = async () =>
    (await client.listAll(machineDeploymentKind, { namespace })).map(({ metadata }) => metadata.generation);
  const before = await generations();
  const wipe = { fieldManager: "engineer", subresource: "status" } as const;
  const [pool, sample] = [await engineer.getPool("front"), await engineer.getCluster("sample")];
  await client.mergePatch(nodePoolKind, namespace, "front", withoutAllButId(pool), wipe);
  await client.mergePatch(clusterKind, namespace, "sample", withoutAllButId(sample), wipe);
  await waitFor("the status to be rebuilt", () => getStep("create").isDone(engineer), SOON);
  expect(await identify(engineer)).toEqual(identities);
  expect(await generations()).toEqual(before);
  await cluster.close();
});

test("a finalizer that was removed by hand is restored; a deletion without it leaves nothing behind", async () => {
  const cluster = await createConvergedCluster(bare);
  const { engineer, identities } = cluster;
  const { client, namespace } = engineer;
  const strip = { metadata: { finalizers: null } };
  await engineer.patchCluster("sample", strip);
  await waitFor("the finalizer", async () => (await engineer.getCluster("sample")).metadata.finalizers, SOON);
  expect(await identify(engineer)).toEqual(identities);
  await holder.operator.signal("SIGKILL");
  await client.delete(clusterKind, namespace, "sample");
  await engineer.patchCluster("sample", strip);
  holder.operator = await bare.startOperator();
  const machines = async () => (await client.listAll(machineDeploymentKind, { namespace })).length;
  await waitFor(
    "Cluster API's objects to be deleted with their owner",
    async () => (await machines()) === 0,
    SOON,
  );
  const pool = await waitFor(
    "the pools to report what they wait for",
    async () => {
      const front = await engineer.getPool("front");
      return front.status?.message?.includes("create it") ? front : undefined;
    },
    SOON,
  );
  expect(pool.status?.message).toContain("no cluster sample");
  await cluster.close();
});

test("a namespace that is deleted under a running cluster is removed with everything in it", async () => {
  const cluster = await createConvergedCluster(bare);
  const { engineer, identities } = cluster;
  await engineer.client.delete(namespaceKind, undefined, engineer.namespace);
  const isDeleted = async () =>
    (await engineer.client.get(namespaceKind, undefined, engineer.namespace)) === undefined;
  await waitFor("the namespace to be deleted", isDeleted, SOON);
  const left = await waitFor(
    "no leftovers",
    async () => {
      const found = await listLeftovers(engineer, identities.ids[0]);
      return found.length === 0 ? found : undefined;
    },
    SOON,
  );
  expect(left).toEqual([]);
  await cluster.close();
});

test("leftovers of a deleted Cluster API cluster block no deletion", async () => {
  const cluster = await createConvergedCluster(bare);
  const { client, namespace } = cluster.engineer;
  const by = { fieldManager: "engineer" };
  const finalizers = (list: string[] | null) => ({ metadata: { finalizers: list } });
  const deployments = () => client.listAll(machineDeploymentKind, { namespace });
  await holder.operator.signal("SIGKILL");
  await client.delete(clusterKind, namespace, "sample");
  await client.mergePatch(capiClusterKind, namespace, "sample", finalizers(null), by);
  await client.delete(capiClusterKind, namespace, "sample");
  for (const { metadata } of await client.listAll(machineKind, { namespace }))
    await client.delete(machineKind, namespace, metadata.name);
  const [blocked] = await deployments();
  if (blocked === undefined) throw new Error("Cluster API left nothing behind");
  await client.mergePatch(
    machineDeploymentKind,
    namespace,
    blocked.metadata.name,
    finalizers(["a.test/b"]),
    by,
  );
  expect((await deployments()).length).toBeGreaterThan(1);

  holder.operator = await bare.startOperator();
  const isDeleted = async () => (await client.listAll(clusterKind, { namespace })).length === 0;
  await waitFor("the cluster to be deleted", isDeleted, SOON);
  expect(await client.listAll(nodePoolKind, { namespace })).toEqual([]);
  expect((await deployments()).map(({ metadata }) => metadata.name)).toEqual([blocked.metadata.name]);
  await client.mergePatch(machineDeploymentKind, namespace, blocked.metadata.name, finalizers(null), by);
  await cluster.close();
});
