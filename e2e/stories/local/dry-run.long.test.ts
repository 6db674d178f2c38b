import { afterAll, beforeAll, expect, test } from "vitest";
import { readStack } from "../../platform/stack/testing.ts";
import { createRealCluster, type RealCluster } from "./real-cluster.ts";

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
