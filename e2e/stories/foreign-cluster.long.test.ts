import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { roleKind, secretKind } from "../../shared/kube/core-kinds.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, conditionOf, createEngineer, type Engineer } from "../testing/custom-resources.ts";

const stack = readStack();
const engineers: Engineer[] = [];
const BY_HAND = { fieldManager: "engineer" };

afterAll(async () => {
  for (const engineer of engineers) await engineer.close();
});

/**
 * A namespace with a Cluster API cluster that Marina did not create, complete with endpoint and CA, which nothing
 * reconciles.
 */
async function openWithForeignCluster(name: string): Promise<Engineer> {
  const engineer = await createEngineer(stack);
  engineers.push(engineer);
  const { client, namespace } = engineer;
  const labels = { "cluster.x-k8s.io/cluster-name": name };
  const ca = { namespace, name: `${name}-ca`, labels };
  await client.create(
    secretKind,
    { metadata: ca, data: { "tls.crt": btoa("theirs"), "tls.key": btoa("theirs") } },
    BY_HAND,
  );
  await client.create(
    capiClusterKind,
    {
      metadata: { namespace, name },
      spec: {
        paused: true,
        controlPlaneEndpoint: { host: "192.0.2.1", port: 6443 },
        controlPlaneRef: {
          apiGroup: "controlplane.cluster.x-k8s.io",
          kind: "KubeadmControlPlane",
          name: randomUUID(),
        },
      },
    },
    BY_HAND,
  );
  return engineer;
}

test("a Cluster API cluster of somebody else is never touched, and its name is reported as taken", async () => {
  const engineer = await openWithForeignCluster("theirs");
  const { client, namespace } = engineer;
  await engineer.createCluster("theirs", {});
  await engineer.createPool("web", "theirs", {});
  const stalled = await waitFor("the taken name", async () => {
    const condition = conditionOf(await engineer.getCluster("theirs"), "Stalled");
    return condition?.status === "True" ? condition : undefined;
  });
  expect(stalled).toMatchObject({
    reason: "NameTaken",
    message: expect.stringContaining("that this platform does not run"),
  });
  await waitFor("the pool to be held", async () => (await engineer.getPool("web")).metadata.finalizers);
  const secrets = (await client.listAll(secretKind, { namespace })).map(({ metadata }) => metadata.name);
  expect(secrets).not.toContain(nameAdminSecret("theirs"));
  const roles = (await client.listAll(roleKind, { namespace })).map(({ metadata }) => metadata.name);
  expect(roles).not.toContain(nameAdminSecret("theirs"));

  await client.delete(clusterKind, namespace, "theirs");
  await waitFor("the Cluster and its pool to be deleted", async () => {
    const left = [
      await client.get(clusterKind, namespace, "theirs"),
      await client.get(nodePoolKind, namespace, "web"),
    ];
    return left.every((object) => object === undefined);
  });
  const foreign = await client.get(capiClusterKind, namespace, "theirs");
  expect(foreign.metadata.deletionTimestamp).toBeUndefined();
  const managers = foreign.metadata.managedFields?.map(({ manager }: { manager: string }) => manager);
  expect(managers).not.toContain("marina-operator");
});
