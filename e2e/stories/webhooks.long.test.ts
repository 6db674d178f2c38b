import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, describe, expect, test } from "vitest";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";
import { failNode } from "../testing/tenant-kubeconfig.ts";
import { openWebhookEndpoint, type WebhookEndpoint } from "../testing/webhook-endpoint.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const TEST = { fieldManager: "test" };
const opened: Engineer[] = [];

afterAll(async () => {
  for (const engineer of opened) await engineer.close();
});

async function createOrganization(): Promise<string> {
  return expectStatus(201, await alice.call("createOrganization", { body: { name: "Webhooks" } })).id;
}

/** A webhook for every type, whose endpoint verifies what it gets. */
async function createWebhook(orgID: string, endpoint: WebhookEndpoint): Promise<string> {
  const body = { url: endpoint.url, events: ["*" as const] };
  const { id, secret } = expectStatus(201, await alice.call("createWebhook", { orgID, body }));
  await endpoint.useSecret(secret);
  return id;
}

interface Event {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the data of whatever type
  data: any;
}

/** The events that an endpoint got, each once, in the order of their arrival. */
async function readEvents(endpoint: WebhookEndpoint): Promise<Event[]> {
  const deliveries = await endpoint.list();
  const once = new Map(deliveries.map(({ id, body }) => [id, JSON.parse(body) as Event]));
  return [...once.values()];
}

async function waitForEvents(endpoint: WebhookEndpoint, type: string, cluster: string): Promise<Event> {
  return waitFor(`${type} of ${cluster}`, async () =>
    (await readEvents(endpoint)).find((event) => event.type === type && matches(event, cluster)),
  );
}

function matches({ data }: Event, cluster: string): boolean {
  return data.name === cluster || data.cluster_id === cluster;
}

describe.concurrent("a webhook", () => {
  test("receives each of the six events of clusters and nodes, whoever caused it", async () => {
    const orgID = await createOrganization();
    const endpoint = openWebhookEndpoint(stack);
    await createWebhook(orgID, endpoint);
    const engineer = await createEngineer(stack, orgID);
    opened.push(engineer);

    const pool = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
    const body = { name: "by-rest", k8s_version: "1.34", node_pools: [pool] };
    const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
    await engineer.createCluster("by-kubectl", { version: "1.34" });
    await engineer.createPool("sick", "by-kubectl", { desiredNodes: 2 });
    for (const name of ["by-rest", "by-kubectl"]) {
      const created = await waitForEvents(endpoint, "cluster.created", name);
      expect(created.data).toMatchObject({ org_id: orgID, status: "provisioning" });
      const ready = await waitForEvents(endpoint, "cluster.ready", name);
      expect(ready.data).toMatchObject({ status: "running", k8s_version: "1.34.2" });
    }

    const machines = await waitFor("both nodes", async () => {
      const { status } = await engineer.getPool("sick");
      const joined = status?.machines?.filter(({ node, ready }) => node !== undefined && ready);
      return joined?.length === 2 ? joined : undefined;
    });
    const [victim] = machines;
    await failNode(engineer, "by-kubectl", victim?.node ?? "");
    const kubectlID = (await waitForEvents(endpoint, "cluster.created", "by-kubectl")).data.cluster_id;
    const replaced = await waitForEvents(endpoint, "node.replaced", kubectlID);
    expect(replaced.data).toMatchObject({ old_node: victim?.node, reason: "UnhealthyNode" });

    const upgrade = { orgID, clusterID, body: { target_version: "1.35" } };
    expectStatus(202, await alice.call("upgradeCluster", upgrade));
    const upgraded = await waitForEvents(endpoint, "cluster.upgraded", "by-rest");
    expect(upgraded.data).toMatchObject({ k8s_version: "1.35.1", previous_version: "1.34.2" });

    const lost = await loseEndpoint(engineer, "by-kubectl");
    const degraded = await waitForEvents(endpoint, "cluster.degraded", "by-kubectl");
    expect(degraded.data).toMatchObject({ status: "degraded", reason: expect.stringMatching(/^[A-Z]\w+$/) });
    await lost.restore();

    expectStatus(202, await alice.call("deleteCluster", { orgID, clusterID }));
    const byKubectl = ["clusters.cloud.marina.dev", "by-kubectl", "--namespace", engineer.namespace];
    await kubectl(["delete", ...byKubectl, "--wait=false"]);
    for (const name of ["by-rest", "by-kubectl"]) {
      const deleted = await waitForEvents(endpoint, "cluster.deleted", name);
      expect(deleted.data).toMatchObject({ status: "deleting" });
    }

    const deliveries = await endpoint.list();
    expect(deliveries.filter(({ verified }) => verified !== true)).toEqual([]);
    const types = (await readEvents(endpoint)).map(({ type }) => type).sort();
    const lifeOfBoth = ["cluster.created", "cluster.deleted", "cluster.ready"].flatMap((type) => [
      type,
      type,
    ]);
    expect(types).toEqual([...lifeOfBoth, "cluster.degraded", "cluster.upgraded", "node.replaced"].sort());
    await expectDocumented(deliveries.map(({ body }) => JSON.parse(body)));
  });

  test("loses no event while its secret is rotated: both secrets sign for a day", async () => {
    const orgID = await createOrganization();
    const endpoint = openWebhookEndpoint(stack);
    const webhookID = await createWebhook(orgID, endpoint);
    const place = { orgID, webhookID };
    const rotated = expectStatus(200, await alice.call("rotateWebhookSecret", place));
    await sendTest(place, endpoint, 1);
    await endpoint.useSecret(rotated.secret);
    await sendTest(place, endpoint, 2);
    const again = expectStatus(200, await alice.call("rotateWebhookSecret", place));
    await sendTest(place, endpoint, 3);
    await endpoint.useSecret(again.secret);
    await sendTest(place, endpoint, 4);
    expect((await endpoint.list()).map(({ verified }) => verified)).toEqual([true, true, true, true]);
  });

  test("that is disabled is sent nothing, and recovers what it missed once it is enabled", async () => {
    const orgID = await createOrganization();
    const endpoint = openWebhookEndpoint(stack);
    const webhookID = await createWebhook(orgID, endpoint);
    const place = { orgID, webhookID };
    const since = new Date().toISOString();
    expectStatus(200, await alice.call("updateWebhook", { ...place, body: { enabled: false } }));
    const body = { name: "missed", k8s_version: "1.34", node_pools: [] };
    const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
    await waitFor("the cluster to run", async () => {
      const cluster = expectStatus(200, await alice.call("getCluster", { orgID, clusterID }));
      return cluster.status === "running";
    });
    expectStatus(409, await alice.call("recoverWebhook", { ...place, body: { since } }));
    expect(await endpoint.list()).toEqual([]);
    expectStatus(200, await alice.call("updateWebhook", { ...place, body: { enabled: true } }));
    const recovery = expectStatus(202, await alice.call("recoverWebhook", { ...place, body: { since } }));
    expect(recovery.deliveries).toBe(2);
    await waitForEvents(endpoint, "cluster.created", "missed");
    await waitForEvents(endpoint, "cluster.ready", "missed");
    expectStatus(202, await alice.call("deleteCluster", { orgID, clusterID }));
    await waitForEvents(endpoint, "cluster.deleted", "missed");
    expect(await readEvents(endpoint)).toHaveLength(3);
    expect((await endpoint.list()).filter(({ verified }) => verified !== true)).toEqual([]);
  });

  test("whose endpoint fails shows each attempt, and what came back", async () => {
    const orgID = await createOrganization();
    const endpoint = openWebhookEndpoint(stack);
    const webhookID = await createWebhook(orgID, endpoint);
    const place = { orgID, webhookID };
    // The receiver refuses what it cannot verify, with 401.
    await endpoint.useSecret(`whsec_${"0".repeat(64)}`);
    const sent = expectStatus(202, await alice.call("testWebhook", place));
    const failed = await waitFor("the attempt", async () => {
      const found = await alice.call("getWebhookDelivery", { ...place, deliveryID: sent.id });
      const delivery = expectStatus(200, found);
      return delivery.attempts.length > 0 ? delivery : undefined;
    });
    const [received] = await endpoint.list();
    expect(failed).toMatchObject({
      event_type: "webhook.test",
      event_id: received?.id,
      body: received?.body,
    });
    expect(failed.attempts[0]).toMatchObject({ number: 1, status: 401, error_class: "status" });
    const { items } = expectStatus(200, await alice.call("listWebhookDeliveries", place));
    expect(items.map(({ id }) => id)).toEqual([sent.id]);
  });
});

async function sendTest(
  place: { orgID: string; webhookID: string },
  endpoint: WebhookEndpoint,
  expected: number,
): Promise<void> {
  expectStatus(202, await alice.call("testWebhook", place));
  await waitFor(`delivery ${expected}`, async () => (await endpoint.list()).length === expected);
}

/** Makes the operator distrust the API endpoint of a cluster, as if it were another server. */
async function loseEndpoint({ client, namespace }: Engineer, cluster: string) {
  const name = `${cluster}-ca`;
  const authority = await client.get(secretKind, namespace, name);
  const file = join(dirname(stack.kubeconfig), "certificates", "ca.crt");
  const setAuthority = (certificate: string | undefined) =>
    client.mergePatch(secretKind, namespace, name, { data: { "tls.crt": certificate } }, TEST);
  await setAuthority(readFileSync(file).toString("base64"));
  return { restore: () => setAuthority(authority?.data?.["tls.crt"]) };
}

/** Holds bodies to the schemas that the API publishes. */
async function expectDocumented(bodies: readonly Event[]): Promise<void> {
  const { items } = expectStatus(200, await alice.call("listWebhookEvents", {}));
  const ajv = addFormats.default(new Ajv2020({ strict: false }));
  for (const body of bodies) {
    const described = items.find(({ type }) => type === body.type);
    ajv.validate(described?.body_schema ?? false, body);
    expect(ajv.errors).toBeNull();
  }
}
