import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { type SecondApiserver, startSecondApiserver } from "../testing/second-apiserver.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";

const stack = readStack();
const one = createTenant(stack.apiUrl, stack.tokens.alice);
let other: Tenant;
let replica: SecondApiserver;

/**
 * A second replica in addition to the stack's own, which only serves requests: every background loop runs in the first
 * one.
 */
beforeAll(async () => {
  replica = await startSecondApiserver(dirname(stack.kubeconfig), { MARINA_ROLES: "api" });
  other = createTenant(replica.url, stack.tokens.alice);
});

afterAll(() => replica?.stop());

const idsOf = (items: { id: string }[]) => items.map(({ id }) => id);

/** What a write decides; the rest of a record follows the world, which may move on between two reads. */
function settingsOf(record: Record<string, unknown>): Record<string, unknown> {
  const settings = ["id", "name", "plan", "k8s_version", "generation", "vcpus", "desired_nodes", "max_nodes"];
  return Object.fromEntries(settings.map((name) => [name, record[name]]));
}

test("every replica immediately reads a write that any of them has confirmed", async () => {
  const { body: organization } = await one.request("POST", "/organizations", { name: "Replicas" });
  const clusters = `/organizations/${organization.id}/clusters`;
  const pool = { name: "a", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 0, max_nodes: 9 };
  for (let round = 0; round < 5; round++) {
    const [writer, reader] = round % 2 === 0 ? [one, other] : [other, one];
    const name = `round ${round}`;
    const created = await writer.request("POST", clusters, {
      name,
      k8s_version: "1.34",
      plan: "scale",
      node_pools: [pool],
    });
    expect(created.status).toBe(202);
    const path = `${clusters}/${created.body.id}`;
    const read = (at: string) => reader.request("GET", at);
    expect(settingsOf((await read(path)).body)).toEqual(settingsOf(created.body));
    const found = await read(`${clusters}?name=${encodeURIComponent(name)}`);
    expect(idsOf(found.body.items)).toEqual([created.body.id]);

    const more = await writer.request("POST", `${path}/nodepools`, { ...pool, name: "b" });
    const poolPath = `${path}/nodepools/${more.body.id}`;
    expect(settingsOf((await read(poolPath)).body)).toEqual(settingsOf(more.body));
    for (const nodes of [3, 5]) {
      await writer.request("PUT", poolPath, { desired_nodes: nodes });
      expect((await read(poolPath)).body.desired_nodes).toBe(nodes);
    }
    const policy = { authorized_cidrs: ["203.0.113.0/24"] };
    const set = await writer.request("PUT", `${path}/network`, policy);
    expect((await read(`${path}/network`)).body).toEqual(set.body);
    const renamed = await writer.request("PUT", path, { name: `${name}, renamed` });
    expect((await read(path)).body.name).toBe(renamed.body.name);

    await writer.request("DELETE", poolPath);
    expect(["deleting", undefined]).toContain((await read(poolPath)).body.status);
    await writer.request("DELETE", path);
    expect(["deleting", undefined]).toContain((await read(path)).body.status);
  }
});

test("what came by kubectl is read from every replica soon", async () => {
  const { body: organization } = await one.request("POST", "/organizations", { name: "Replicas, by hand" });
  const namespace = `org-${organization.id}`;
  await waitFor("the namespace", () => kubectl(["get", "namespace", namespace]).then(() => true));
  await kubectl(["apply", "-f", "-"], {
    stdin: JSON.stringify({
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      metadata: { name: "by-hand", namespace },
      spec: { version: "1.34.2", plan: "scale" },
    }),
  });
  const clusters = `/organizations/${organization.id}/clusters`;
  const listed = await waitFor("it to be listed", async () => {
    const { body } = await one.request("GET", clusters);
    return body.items.length === 1 ? idsOf(body.items) : undefined;
  });
  expect(idsOf((await other.request("GET", clusters)).body.items)).toEqual(listed);
  await kubectl(["delete", "clusters.cloud.marina.dev", "by-hand", "-n", namespace, "--wait=false"]);
});
