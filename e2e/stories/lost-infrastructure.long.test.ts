import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_RECREATE, LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import { configMapKind, secretKind } from "../../shared/kube/core-kinds.ts";
import { localClusterKind, localControlPlaneKind } from "../platform/local-provider/kinds.ts";
import { PLATFORM_NAMESPACE } from "../platform/stack/marina.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import {
  capiClusterKind,
  conditionOf,
  createEngineer,
  type Engineer,
  machineDeploymentKind,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";
import { openWebhookEndpoint } from "../testing/webhook-endpoint.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const CAPI_CLUSTERS = "clusters.cluster.x-k8s.io";
const TEST = { fieldManager: "test" };

let engineer: Engineer;
let orgID: string;

beforeAll(async () => {
  orgID = expectStatus(201, await alice.call("createOrganization", { body: { name: "Lost" } })).id;
  engineer = await createEngineer(stack, orgID);
});
afterAll(() => engineer?.close());

function readEngine(name: string) {
  return engineer.client.get(capiClusterKind, engineer.namespace, name);
}

function deleteByHand(resource: string, name: string): Promise<unknown> {
  return kubectl(["delete", resource, name, `-n=${engineer.namespace}`, "--wait=false"]);
}

/** Whether the operator knows that Cluster API has it: until then, what is missing is still being created. */
async function isRecordedAsMade(owner: Engineer, name: string): Promise<boolean> {
  const labelSelector = `${LABEL_CLUSTER_ID}=${(await owner.getCluster(name)).status?.id}`;
  const maps = await owner.client.listAll(configMapKind, { namespace: PLATFORM_NAMESPACE, labelSelector });
  return maps.some(({ data }) => data?.engine !== undefined);
}

/** With a part, until the message names it: parts that go together are seen one after another. */
function waitUntilLost(name: string, part = "", owner = engineer): Promise<Cluster> {
  return waitFor(`${name} to be lost ${part}`, async () => {
    const cluster = await owner.getCluster(name);
    const { phase, message } = cluster.status ?? {};
    const reasons = ["Ready", "Stalled"].map((type) => conditionOf(cluster, type)?.reason);
    const isLost = phase === "Degraded" && reasons.every((reason) => reason === "InfrastructureLost");
    if (isLost && message?.includes(part)) return cluster;
    throw new Error(JSON.stringify(cluster.status));
  });
}

describe.concurrent("lost", () => {
  test("the cluster, when it was ready: REST and webhooks tell, accesses are not in force, and an empty one is made by the platform's annotation alone", async () => {
    const endpoint = openWebhookEndpoint(stack);
    const hook = { url: endpoint.url, events: ["cluster.degraded" as const] };
    await endpoint.useSecret(
      expectStatus(201, await alice.call("createWebhook", { orgID, body: hook })).secret,
    );
    const pool = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
    const body = { name: "shop", k8s_version: "1.34", node_pools: [pool] };
    const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
    const status = async () => expectStatus(200, await alice.call("getCluster", { orgID, clusterID })).status;
    await waitFor("the cluster to run", async () => (await status()) === "running");
    const clusters = await engineer.client.listAll(clusterKind, { namespace: engineer.namespace });
    const name = clusters.find(({ spec }) => spec.displayName === "shop")?.metadata.name ?? "";
    const before = (await readEngine(name)).metadata.uid;
    const ttl = { ttl_seconds: 3600 };
    const issue = () =>
      waitFor("an access", async () =>
        expectStatus(201, await alice.call("issueKubeconfig", { orgID, clusterID, body: ttl })),
      );
    const [kept, revoked] = [(await issue()).id, (await issue()).id];
    const read = (accessID: string) => alice.call("getClusterAccess", { orgID, clusterID, accessID });

    await deleteByHand(CAPI_CLUSTERS, name);
    await waitUntilLost(name);
    await waitFor("Cluster API to have deleted it", async () => (await readEngine(name)) === undefined);
    const lost = await waitUntilLost(name);
    expect(lost.status?.message).toContain(ANNOTATION_RECREATE);
    expect(lost.status?.transitions?.map(({ type }) => type)).toEqual(["Ready", "Degraded"]);
    await waitFor("REST to show it", async () => (await status()) === "degraded");
    await waitFor("the webhook", async () => {
      const events = (await endpoint.list()).map((delivery) => JSON.parse(delivery.body));
      return events.some(({ data }) => data.cluster_id === clusterID && data.reason === "InfrastructureLost");
    });
    await waitFor("the Event", async () =>
      (await engineer.listEvents(name)).some(({ reason }) => reason === "InfrastructureLost"),
    );
    // The cluster may come back with the right.
    expectStatus(204, await alice.call("revokeClusterAccess", { orgID, clusterID, accessID: revoked }));
    const waiting = await waitFor("the access to say what it waits for", async () => {
      const record = expectStatus(200, await read(revoked));
      return record.status_message === null ? undefined : record;
    });
    expect(waiting).toMatchObject({ status: "revoking", status_message: expect.stringContaining("is lost") });
    // Any change makes the operator look again: it still makes nothing.
    const { metadata } = await engineer.patchCluster(name, { spec: { displayName: "lost" } });
    await waitFor("the change to be seen", async () => {
      const { status: seen } = await engineer.getCluster(name);
      return seen?.observedGeneration === metadata.generation;
    });
    expect(await readEngine(name)).toBeUndefined();

    await kubectl([
      "annotate",
      "clusters.cloud.marina.dev",
      name,
      `${ANNOTATION_RECREATE}=${clusterID}`,
      `-n=${engineer.namespace}`,
    ]);
    const back = await waitForCluster(engineer, name);
    expect((await readEngine(name)).metadata.uid).not.toBe(before);
    expect(back.metadata.annotations ?? {}).not.toHaveProperty([ANNOTATION_RECREATE]);
    expect(back.status?.transitions?.at(-1)?.type).toBe("Recovered");
    await waitFor("REST to show it", async () => (await status()) === "running");
    // A new CA: the kubeconfig of the one before opens nothing.
    await waitFor("the revoked access to be gone", async () => (await read(revoked)).status === 404);
    await waitFor("the other one to be refused", async () => {
      return expectStatus(200, await read(kept)).status === "refused";
    });
    await issue();
  });

  test("the cluster, while it was created: it is not created again, and can be deleted", async () => {
    const owner = await createEngineer(stack);
    const { client, namespace } = owner;
    try {
      const quota = `count/${localControlPlaneKind.plural}.${localControlPlaneKind.group}=0`;
      await kubectl(["create", "quota", "none", `-n=${namespace}`, `--hard=${quota}`]);
      await owner.createCluster("early", {});
      await waitFor("it to be recorded as made", () => isRecordedAsMade(owner, "early"));
      await client.delete(capiClusterKind, namespace, "early");
      await waitUntilLost("early", "", owner);
      const readCapi = () => client.get(capiClusterKind, namespace, "early");
      await waitFor("Cluster API to have deleted it", async () => (await readCapi()) === undefined);
      expect((await waitUntilLost("early", "", owner)).status?.firstReadyAt).toBeUndefined();
      await client.delete(clusterKind, namespace, "early");
      await waitFor("it to be gone", async () => {
        return (await client.get(clusterKind, namespace, "early")) === undefined;
      });
    } finally {
      await owner.close();
    }
  });

  test("the control plane, then the CA: each is reported by its name, and what is restored is adopted", async () => {
    const { client, namespace } = engineer;
    await engineer.createCluster("parts", {});
    await waitForCluster(engineer, "parts");
    const ca = await client.get(secretKind, namespace, "parts-ca");
    const kubeconfig = async () => (await client.get(secretKind, namespace, nameAdminSecret("parts")))?.data;
    const before = await waitFor("the admin kubeconfig", kubeconfig);
    await deleteByHand("secret", "parts-ca");
    await waitUntilLost("parts", "certificate authority");
    const restored = {
      metadata: { namespace, name: "parts-ca", labels: ca?.metadata.labels },
      data: ca?.data,
      type: "cluster.x-k8s.io/secret",
    };
    await client.apply(secretKind, restored, { ...TEST, force: true });
    await waitForCluster(engineer, "parts");
    expect(await kubeconfig()).toEqual(before);

    const { controlPlaneRef } = (await readEngine("parts")).spec;
    await deleteByHand(`${controlPlaneRef.kind}.${controlPlaneRef.apiGroup}`, controlPlaneRef.name);
    await waitUntilLost("parts", "control plane");
  });

  test("the network infrastructure: it is reported by its name and not made again, and what is restored is adopted", async () => {
    const { client, namespace } = engineer;
    await engineer.createCluster("network", {});
    const before = await waitForCluster(engineer, "network");
    const { kind, apiGroup, name } = (await readEngine("network")).spec.infrastructureRef;
    const read = () => client.get(localClusterKind, namespace, name);
    const { apiVersion, spec, metadata } = await waitFor("the provider's object", read);
    await deleteByHand(`${kind}.${apiGroup}`, name);
    await waitFor("the provider to have deleted it", async () => (await read()) === undefined);
    const lost = await waitUntilLost("network", "network infrastructure");
    expect(lost.status?.message).toContain(ANNOTATION_RECREATE);
    const changed = await engineer.patchCluster("network", { spec: { labels: { team: "web" } } });
    await waitFor("the change to be seen", async () => {
      const { status } = await engineer.getCluster("network");
      return status?.observedGeneration === changed.metadata.generation;
    });
    expect(await read()).toBeUndefined();

    const { labels = {}, annotations = {} } = metadata;
    const restored = { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
    await client.apply(localClusterKind, restored, { ...TEST, force: true });
    const back = await waitForCluster(engineer, "network");
    expect(back.status?.apiServerURL).toBe(before.status?.apiServerURL);
    expect(back.status?.transitions?.map(({ type }) => type)).toEqual(["Ready", "Degraded", "Recovered"]);
  });

  test("the machines of a pool: Cluster API makes them again, and the pool says so until they are ready", async () => {
    const { client, namespace } = engineer;
    await engineer.createCluster("workers", {});
    await engineer.createPool("workers", "workers", { desiredNodes: 1 });
    await waitForCluster(engineer, "workers");
    const list = () =>
      client.listAll(machineDeploymentKind, {
        namespace,
        labelSelector: "cluster.x-k8s.io/cluster-name=workers",
      });
    const [first] = await waitFor("the node", async () => {
      const isReady = (await engineer.getPool("workers")).status?.readyNodes === 1;
      return isReady ? list() : undefined;
    });
    await deleteByHand("machinedeployments.cluster.x-k8s.io", first?.metadata.name ?? "");
    await waitFor("another node", async () => {
      const [second] = await list();
      const { phase, readyNodes } = (await engineer.getPool("workers")).status ?? {};
      return second?.metadata.uid !== first?.metadata.uid && phase === "Ready" && readyNodes === 1;
    });
    expect((await engineer.getCluster("workers")).status?.transitions?.map(({ type }) => type)).toEqual([
      "Ready",
    ]);
  });
});
