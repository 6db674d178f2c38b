import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "./cluster.ts";
import { nodePoolKind } from "./node-pool.ts";
import { storageInventoryKind } from "./storage-inventory.ts";
import { idleClusterSpec, nodePoolSpec, objectOf, openTestApi } from "./testing.ts";

const samples = join(import.meta.dirname, "../../crds/samples");
const labels = { team: "web" };
const written = { fieldManager: "test" };

const api = setUp(openTestApi);
beforeAll(async () => {
  const { client, namespace } = api;
  const metadata = (name: string) => ({ name, namespace });
  await client.create(
    clusterKind,
    objectOf(clusterKind, metadata("bakery"), { ...idleClusterSpec, plan: "dev", labels }),
    written,
  );
  const pool = objectOf(nodePoolKind, metadata("ovens"), { ...nodePoolSpec, labels });
  await client.create(nodePoolKind, pool, written);
});
afterAll(async () => {
  await api.client.delete(clusterKind, api.namespace, "bakery");
  await api.client.delete(nodePoolKind, api.namespace, "ovens");
});

const kubectl = (...args: string[]) => api.kubectl("--namespace", api.namespace, ...args);

describe("every sample", () => {
  test.each(readdirSync(samples))("%s is accepted unchanged", async (file) => {
    const printed = await kubectl("apply", "--server-side", "--dry-run=server", "-f", join(samples, file));
    expect(printed).toContain("serverside-applied (server dry run)");
    await kubectl("create", "--dry-run=server", "--validate=strict", "-f", join(samples, file));
  });
});

describe("kubectl get", () => {
  test("clusters lists Marina's Clusters, not Cluster API's", async () => {
    expect(await kubectl("api-resources", "--no-headers")).toContain("cluster.x-k8s.io/v1beta2");
    expect(await kubectl("get", "clusters", "-o", "name")).toBe("cluster.cloud.marina.dev/bakery\n");
  });

  test.each([
    ["mcl", "cluster.cloud.marina.dev/bakery\n"],
    ["mnp", "nodepool.cloud.marina.dev/ovens\n"],
    ["mca", ""],
    ["msi", ""],
  ])("%s is a short name", async (shortName, names) => {
    expect(await kubectl("get", shortName, "-o", "name")).toBe(names);
  });

  test.each([
    ["nodepools", "spec.clusterName=shop", "nodepool.cloud.marina.dev/ovens\n"],
    ["nodepools", "spec.clusterName=bakery", ""],
    ["clusters", "status.phase=Deleting", ""],
    ["nodepools", "status.phase=Deleting", ""],
    ["clusteraccesses", "spec.clusterName=bakery", ""],
  ])("%s can be selected by %s", async (plural, selector, names) => {
    expect(await kubectl("get", plural, "--field-selector", selector, "-o", "name")).toBe(names);
  });

  test("marina lists all of Marina's kinds", async () => {
    const printed = await kubectl("get", "marina", "-o", "name");
    expect(printed).toBe("cluster.cloud.marina.dev/bakery\nnodepool.cloud.marina.dev/ovens\n");
  });

  test.each([
    [
      "clusters",
      ["NAME", "READY", "REASON", "PHASE", "VERSION", "NODES", "DISPLAYNAME", "AGE"],
      ["PLAN", "ENDPOINT", "LABELS", "MESSAGE"],
    ],
    [
      "nodepools",
      ["NAME", "CLUSTER", "READY", "REASON", "PHASE", "NODES", "READYNODES", "VERSION", "DISPLAYNAME", "AGE"],
      ["VCPUS", "MEMORY", "DISK", "LABELS", "MESSAGE"],
    ],
  ])(
    "%s prints the default columns, and all with -o wide, labels as they are",
    async (plural, columns, wideColumns) => {
      const heading = async (...args: string[]) =>
        (await kubectl("get", plural, ...args)).split("\n")[0]?.split(/\s+/);
      expect(await heading()).toEqual(columns);
      expect(await heading("-o", "wide")).toEqual([...columns.slice(0, -1), ...wideColumns, "AGE"]);
      expect(await kubectl("get", plural, "-o", "wide")).toMatch(/ \{"team":"web"\} /);
    },
  );
});

describe("kubectl explain", () => {
  test("cluster.spec.network describes Marina's network", async () => {
    const printed = (await kubectl("explain", "cluster.spec.network")).replaceAll(/\s+/g, " ");
    expect(printed).toContain("GROUP: cloud.marina.dev");
    expect(printed).toContain("Restricts access to the public API endpoint of the cluster.");
    expect(printed).toContain(
      "apiServerRateLimit <Object> Limits new connections to the public API endpoint.",
    );
    expect(printed).toContain("authorizedCIDRs <[]string> Source addresses that may connect");
  });
});

describe("kubectl scale", () => {
  test("changes desiredNodes of a pool, within its bounds", async () => {
    await kubectl("scale", "nodepool", "ovens", "--replicas", "5");
    expect((await api.client.get(nodePoolKind, api.namespace, "ovens"))?.spec.desiredNodes).toBe(5);
    await expect(kubectl("scale", "nodepool", "ovens", "--replicas", "6")).rejects.toThrow(
      "spec.desiredNodes: Invalid value: must not be greater than spec.maxNodes",
    );
  });
});

test("kubectl delete --all leaves what is protected, and says what to do", async () => {
  const [wanted, other] = ["kept", "open"] as const;
  for (const name of [wanted, other]) {
    const metadata = { name, namespace: api.namespace, labels: { test: "protection" } };
    const spec = { ...idleClusterSpec, deletionProtection: name === wanted };
    await api.client.create(clusterKind, objectOf(clusterKind, metadata, spec), written);
  }
  const removal = ["delete", "clusters.cloud.marina.dev", "--selector", "test=protection", "--wait=false"];
  await expect(kubectl(...removal)).rejects.toThrow(
    "The cluster kept is protected from deletion: set spec.deletionProtection to false first.",
  );
  const left = await api.client.get(clusterKind, api.namespace, wanted);
  expect(left?.metadata.deletionTimestamp).toBeUndefined();
  const gone = await api.client.get(clusterKind, api.namespace, other);
  expect(gone === undefined || gone.metadata.deletionTimestamp !== undefined).toBe(true);
  await kubectl("patch", "mcl", wanted, "--type=merge", "--patch", '{"spec": {"deletionProtection": false}}');
  await kubectl(...removal);
});

test("an identical apply changes nothing", async () => {
  const apply = (name: string, spec: object) =>
    api.client.apply(
      storageInventoryKind,
      objectOf(storageInventoryKind, { name, namespace: api.namespace }, spec),
      written,
    );
  await apply("shared-storage", { quotaBytes: 1024 });
  // The operator writes a new inventory's status once.
  const first = await waitFor("the status of the inventory", async () => {
    const inventory = await api.client.get(storageInventoryKind, api.namespace, "shared-storage");
    return inventory?.status?.conditions === undefined ? undefined : inventory;
  });
  const second = await apply("shared-storage", { quotaBytes: 1024 });
  expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  expect(second.metadata.generation).toBe(first.metadata.generation);
});
