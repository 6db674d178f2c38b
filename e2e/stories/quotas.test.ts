import { describe, expect, test } from "vitest";
import { ANNOTATION_QUOTAS } from "../../shared/crd/names.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const staff = createTenant(stack.apiUrl, stack.tokens.staff);
const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, min_nodes: 0, max_nodes: 10 };

async function openOrganization(name: string): Promise<string> {
  const { body } = await alice.request("POST", "/organizations", { name });
  return body.id;
}

/** The cluster once it runs with all its nodes. */
function waitForRunning(path: string, nodes: number) {
  return waitFor(`${path} to run with ${nodes} nodes`, async () => {
    const { body } = await alice.request("GET", path);
    if (body.status === "running" && body.nodes.ready === nodes && body.nodes.total === nodes) return body;
    throw new Error(`${body.status}, nodes ${JSON.stringify(body.nodes)}: ${body.status_message}`);
  });
}

async function listNodes(pool: string): Promise<string[]> {
  const { body } = await alice.request("GET", `${pool}/nodes?limit=100`);
  return body.items.map(({ id }: { id: string }) => id).sort();
}

describe.concurrent("effects and quotas", () => {
  test("a dry run reports how many nodes the real request replaces, adds and removes", async () => {
    const path = `/organizations/${await openOrganization("Dry runs")}/clusters`;
    const { body: created } = await alice.request("POST", path, {
      name: "dry run",
      k8s_version: "1.34.2",
      node_pools: [{ name: "workers", ...POOL }],
    });
    const cluster = `${path}/${created.id}`;
    await waitForRunning(cluster, 1);
    const pools = await alice.request("GET", `${cluster}/nodepools`);
    const pool = `${cluster}/nodepools/${pools.body.items[0].id}`;
    // The pool has a status of its own, which may be written after that of its cluster.
    await waitFor("the pool to be ready with its node", async () => {
      const { body: record } = await alice.request("GET", pool);
      return record.status === "ready" && record.ready_nodes === 1 && (await listNodes(pool)).length === 1;
    });

    const expectAsDryRun = async (body: object, wanted: number) => {
      const before = await listNodes(pool);
      const dry = await alice.request("PUT", `${pool}?dry_run=true`, body);
      expect(dry.status).toBe(200);
      expect(await listNodes(pool)).toEqual(before);
      await alice.request("PUT", pool, body);
      const after = await waitFor("the pool to converge", async () => {
        const { body: record } = await alice.request("GET", pool);
        const nodes = await listNodes(pool);
        const kept = nodes.filter((node) => before.includes(node)).length;
        const isDone =
          kept === before.length - dry.body.effects.nodes_replaced - dry.body.effects.nodes_removed;
        return isDone && record.status === "ready" && nodes.length === wanted ? nodes : undefined;
      });
      const kept = after.filter((node) => before.includes(node)).length;
      const { nodes_replaced: replaced, nodes_added: added, nodes_removed: removed } = dry.body.effects;
      expect({ removed: before.length - kept, created: after.length - kept }).toEqual({
        removed: replaced + removed,
        created: replaced + added,
      });
      return dry.body.effects;
    };

    expect(await expectAsDryRun({ vcpus: 4, desired_nodes: 2 }, 2)).toMatchObject({
      nodes_replaced: 1,
      nodes_added: 1,
    });
    expect(await expectAsDryRun({ desired_nodes: 1 }, 1)).toMatchObject({ nodes_removed: 1 });
    const upgrade = await alice.request("POST", `${cluster}/upgrade?dry_run=true`, {
      target_version: "1.35",
    });
    expect(upgrade.body).toMatchObject({
      cluster: { k8s_version: "1.35.1", status: "upgrading" },
      effects: { nodes_replaced: 1, nodes_added: 0, nodes_removed: 0 },
    });
    const deletion = await alice.request("DELETE", `${cluster}?dry_run=true`);
    expect(deletion.body).toMatchObject({ status: "deleting", effects: { nodes_removed: 1 } });
    // The status of the cluster is written after that of its pool; one that was deleted would never run again.
    await waitForRunning(cluster, 1);
    await alice.request("DELETE", cluster);
  });

  test("a kubectl change beyond a quota is Stalled with its reason; what runs keeps running; a freed quota is used", async () => {
    const orgId = await openOrganization("Quotas below");
    const namespace = `org-${orgId}`;
    const path = `/organizations/${orgId}/clusters`;
    const setQuotas = (limits: object) =>
      staff.request("PUT", `/admin/organizations/${orgId}/quotas`, limits);
    expect((await setQuotas({ clusters: 1, nodes: 3 })).status).toBe(200);
    // A request that cannot write the namespace within 2 s leaves it to a job.
    await waitFor("the limits on the namespace", async () => {
      const { metadata } = JSON.parse((await kubectl(["get", "namespace", namespace, "-o", "json"])).stdout);
      return JSON.parse(metadata.annotations[ANNOTATION_QUOTAS]).clusters === 1;
    });
    const apply = (...objects: object[]) =>
      kubectl(["apply", "--server-side", "-f", "-"], {
        stdin: objects.map((it) => JSON.stringify(it)).join("\n"),
      });
    await apply(aCluster(namespace, "first"), aNodePool(namespace, "workers", "first"));
    const first = await waitFor("the first cluster", async () => {
      const { body } = await alice.request("GET", path);
      return body.items.find(({ name }: { name: string }) => name === "first");
    });
    await waitForRunning(`${path}/${first.id}`, 2);
    // Cluster and pool are projected one by one.
    const pool = await waitFor("the pool", async () => {
      const { items } = (await alice.request("GET", `${path}/${first.id}/nodepools`)).body;
      return items[0];
    });
    const readPool = async () =>
      (await alice.request("GET", `${path}/${first.id}/nodepools/${pool.id}`)).body;

    await apply(aCluster(namespace, "second"));
    const refused = await waitFor("the second cluster to be refused", async () => {
      const { body } = await alice.request("GET", path);
      return body.items.find(({ status }: { status: string }) => status === "failed");
    });
    expect(refused).toMatchObject({ name: "second" });
    expect(refused.status_message).toContain("clusters: 1 allowed, 1 in use, 1 more requested");

    await kubectl(["scale", "nodepools.cloud.marina.dev/workers", "-n", namespace, "--replicas=4"]);
    const refusedGrowth = await waitFor("the growth to be refused", async () => {
      const record = await readPool();
      return record.status_message?.includes("nodes: 3 allowed, 2 in use, 2 more requested")
        ? record
        : undefined;
    });
    expect(refusedGrowth).toMatchObject({ status: "ready", desired_nodes: 4, current_nodes: 2 });
    const status = await waitFor("its cluster to be updated", async () => {
      const { body } = await alice.request("GET", `${path}/${first.id}`);
      return body.status === "updating" ? undefined : body.status;
    });
    expect(status).toBe("running");

    // A quota below the current use: nothing stops. Then a sufficient one: both continue by themselves.
    await setQuotas({ nodes: 1 });
    await waitFor("the smaller quota to be observed", async () =>
      (await readPool()).status_message?.includes("nodes: 1 allowed"),
    );
    expect(await readPool()).toMatchObject({ current_nodes: 2 });
    await setQuotas({ clusters: 2, nodes: 4 });
    await waitFor("four nodes", async () => {
      const record = await readPool();
      return record.status === "ready" && record.current_nodes === 4;
    });
    await waitFor("the second cluster to continue", async () => {
      const { body } = await alice.request("GET", `${path}/${refused.id}`);
      return body.status === "provisioning" || body.status === "running";
    });

    await setQuotas({ clusters: 3 });
    await apply(aCluster(namespace, "third", "FIRST"));
    await waitFor("the third cluster to be refused for its name", async () => {
      const { body } = await alice.request("GET", `${path}?status=failed&name=first`);
      return body.items[0]?.status_message?.includes(`is taken by the older object first`);
    });
    for (const id of [first.id, refused.id]) await alice.request("DELETE", `${path}/${id}`);
  });
});

function aCluster(namespace: string, name: string, displayName = name) {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: { namespace, name },
    spec: { displayName, version: "1.34.2", publicEndpoint: true },
  };
}

function aNodePool(namespace: string, name: string, clusterName: string) {
  const counts = { desiredNodes: 2, minNodes: 0, maxNodes: 10 };
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: { namespace, name },
    spec: { clusterName, vcpus: 2, memoryGB: 4, diskGB: 20, ...counts },
  };
}
