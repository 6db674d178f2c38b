import { afterAll, beforeAll, expect, test } from "vitest";
import { readStack, waitFor } from "../../platform/stack/testing.ts";
import { createRealCluster, describeWorkload, type RealCluster } from "./real-cluster.ts";

let cluster: RealCluster;

beforeAll(async () => {
  cluster = await createRealCluster(readStack(), "dry-run", { version: "1.34", nodes: 1 });
});

afterAll(() => cluster?.remove());

const apply = (...items: object[]) =>
  cluster.run(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));

test("the dry run of a deletion lists the load balancers and volumes that may stay at the provider", async () => {
  const dryRun = async () => {
    const { status, body } = await cluster.alice.request("DELETE", `${cluster.path}?dry_run=true`);
    expect(status).toBe(200);
    return body.effects.leftovers;
  };
  expect(await dryRun()).toEqual([]);
  const volume = (name: string, persistentVolumeReclaimPolicy: string) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      persistentVolumeReclaimPolicy,
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/data" },
    },
  });
  const service = (name: string, type: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { type, ports: [{ port: 80 }] },
  });
  await apply(
    service("web", "LoadBalancer"),
    service("inside", "ClusterIP"),
    volume("kept", "Retain"),
    volume("unused", "Delete"),
  );
  expect(await dryRun()).toEqual([
    { kind: "Service", namespace: "default", name: "web" },
    { kind: "PersistentVolume", namespace: null, name: "kept" },
  ]);
});

test("the dry run of an upgrade names the budget and the webhook that stand in its way", async () => {
  await cluster.run(["apply", "-f", "-"], describeWorkload("guarded", 1, "50m", 1));
  await cluster.run(["rollout", "status", "deployment/guarded", "--timeout=400s"]);
  await apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "widgets" },
    webhooks: [
      {
        name: "widgets.example.com",
        clientConfig: { service: { namespace: "default", name: "nobody" } },
        rules: [
          { apiGroups: ["example.com"], apiVersions: ["*"], operations: ["*"], resources: ["widgets"] },
        ],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });
  const dryRun = async (method: "POST" | "PUT", path: string, body: object) => {
    const response = await cluster.alice.request(method, `${cluster.path}${path}?dry_run=true`, body);
    expect(response.status).toBe(200);
    return response.body.effects;
  };
  const checks = await waitFor("the budget to count its pod", async () => {
    const effects = await dryRun("POST", "/upgrade", { target_version: "1.35" });
    return effects.checks.length > 1 ? effects.checks : undefined;
  });
  const budget = { kind: "PodDisruptionBudget", namespace: "default", name: "guarded" };
  const webhook = { kind: "ValidatingWebhookConfiguration", namespace: null, name: "widgets" };
  expect(checks).toEqual([
    expect.objectContaining({ check: "pods_not_evictable", severity: "blocking", object: budget }),
    expect.objectContaining({ check: "webhook_without_endpoint", severity: "warning", object: webhook }),
  ]);
  expect((await dryRun("PUT", "", { k8s_version: "1.35" })).checks).toEqual(checks);
  const unchanged = await dryRun("PUT", "", { k8s_version: "1.34", name: "Renamed" });
  expect(unchanged).not.toHaveProperty("checks");
});

test("an enforced check refuses the upgrade by REST and holds it by kubectl, naming the budget, until it is forced", async () => {
  const { alice, path } = cluster;
  const put = (body: object) => alice.request("PUT", path, body);
  expect((await put({ upgrade_checks: "enforce" })).body.upgrade_checks).toBe("enforce");
  const refused = await alice.request("POST", `${path}/upgrade`, { target_version: "1.35" });
  expect([refused.status, refused.body.error.code]).toEqual([409, "upgrade_blocked"]);
  expect(refused.body.error.details).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/^PodDisruptionBudget default\/guarded: /) }),
  ]);
  const [upgrade] = (await alice.request("GET", `${path}/upgrades`)).body.items;
  expect(upgrade.checks).toContainEqual(expect.objectContaining({ check: "pods_not_evictable" }));

  await cluster.patch({ version: "1.35" });
  const readConditions = async () => (await alice.request("GET", path)).body.conditions;
  const held = await waitFor("the upgrade to be held", async () =>
    (await readConditions()).find(({ type }: { type: string }) => type === "UpgradeBlocked"),
  );
  expect(held.message).toBe(refused.body.error.message);
  const readStatus = async () => {
    const { items } = await cluster.getManaged("cloud.marina.dev/v1", "clusters");
    return items[0].status;
  };
  expect(await readStatus()).toMatchObject({ version: "1.34.2", targetVersion: "1.34.2", phase: "Ready" });

  const force = { reason: "the budget is of a test" };
  const forced = await alice.request("POST", `${path}/upgrade`, { target_version: "1.35", force });
  expect(forced.status).toBe(202);
  await waitFor("the upgrade to begin", async () => (await readStatus()).targetVersion === "1.35.1");
  await waitFor("the record to name nothing that blocks", async () =>
    (await readConditions()).every(({ type }: { type: string }) => type !== "UpgradeBlocked"),
  );
  await waitFor("an Event to have the reason", async () => {
    const { items } = await cluster.getManaged("events.k8s.io/v1", "events");
    return items.some(({ note }: { note?: string }) => note?.includes(`is forced: ${force.reason}`));
  });
});
