import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { readStack, waitFor } from "../../platform/stack/testing.ts";
import { createRealCluster, describeWorkload, type RealCluster, waitForRunning } from "./real-cluster.ts";

const DRAIN_TIMEOUT_SECONDS = 40;
const PODS = "/api/v1/namespaces/default/pods";
let cluster: RealCluster;
let pool: string;

beforeAll(async () => {
  cluster = await createRealCluster(readStack(), "nodes", {
    pool: {
      drain_timeout_seconds: DRAIN_TIMEOUT_SECONDS,
      min_nodes: 1,
      max_nodes: 3,
      node_labels: { tier: "web" },
    },
  });
  const { body } = await cluster.alice.request("GET", `${cluster.path}/nodepools`);
  pool = `${cluster.path}/nodepools/${body.items[0].id}`;
});

afterAll(() => cluster?.remove());

interface NodeLike {
  metadata: { name: string; labels: Record<string, string>; creationTimestamp: string };
  spec: { unschedulable?: boolean; taints?: { key: string; value?: string; effect: string }[] };
  status: { allocatable: Record<string, string>; conditions: { type: string; status: string }[] };
}

const isReady = ({ status }: NodeLike) =>
  status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True");

/** Applies the workload, and deletes it when the test has ended, failed or not. */
async function applyWorkload(...workload: Parameters<typeof describeWorkload>): Promise<void> {
  const objects = describeWorkload(...workload);
  onTestFinished(async () => {
    await cluster.run(["delete", "--ignore-not-found", "-f", "-"], objects);
  });
  await cluster.run(["apply", "-f", "-"], objects);
}

const listNodes = async (): Promise<NodeLike[]> => (await cluster.get("/api/v1/nodes")).items;

test("the machine's size is allocatable by the scheduler: pods that do not fit stay pending", async () => {
  const [node] = await listNodes();
  expect(node?.metadata.labels).toMatchObject({ tier: "web" });
  expect(node?.status.allocatable).toMatchObject({ cpu: "2", memory: "4Gi", "ephemeral-storage": "20Gi" });
  await applyWorkload("big", 4, "1500m");
  await waitFor("two of four pods to run, one on each node", async () => {
    const { items } = await cluster.get(`${PODS}?labelSelector=app%3Dbig`);
    const phases = items.map((pod: { status: { phase: string } }) => pod.status.phase).toSorted();
    return phases.join() === "Pending,Pending,Running,Running";
  });
});

test("a node that becomes not ready is replaced once, and its pods move", async () => {
  await applyWorkload("moving", 4, "100m");
  await cluster.run(["rollout", "status", "deployment/moving", "--timeout=400s"]);
  const before = (await listNodes()).map(({ metadata }) => metadata.name);
  const sick = before[0] ?? "";
  // Without its annotation kwok stops simulating this kubelet; a silent kubelet would be Unknown.
  await cluster.run(["annotate", "node", sick, "kwok.x-k8s.io/node-"]);
  const condition = {
    type: "Ready",
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "simulated failure",
  };
  const patch = JSON.stringify({ status: { conditions: [condition] } });
  await cluster.run(["patch", "node", sick, "--subresource=status", "--type=strategic", "-p", patch]);
  await waitFor(
    "the failed node to be deleted",
    async () => !(await listNodes()).some((one) => one.metadata.name === sick),
  );
  // The status of the cluster may still be that of before the failure.
  await waitFor("another node to be ready in its place", async () => {
    const nodes = await listNodes();
    return nodes.length === before.length && nodes.every(isReady);
  });
  await waitForRunning(cluster.alice, cluster.path, 2);
  await cluster.run(["rollout", "status", "deployment/moving", "--timeout=400s"]);
  const pods = await cluster.get(`${PODS}?labelSelector=app%3Dmoving`);
  expect(pods.items.map((pod: { spec: { nodeName: string } }) => pod.spec.nodeName)).not.toContain(sick);
  const after = (await listNodes()).map(({ metadata }) => metadata.name);
  expect(after.filter((name) => before.includes(name))).toHaveLength(1);
  const replaced = await waitFor("the replacement to be in the pool's status", async () => {
    const [nodePool] = (await cluster.getManaged("cloud.marina.dev/v1", "nodepools")).items;
    const found = nodePool.status.transitions.filter(({ type }: { type: string }) => type === "NodeReplaced");
    return found.length > 0 ? found : undefined;
  });
  expect(replaced).toMatchObject([{ oldNode: sick, reason: "UnhealthyNode" }]);
});

/** Volumes that are attached to these nodes, and that nothing detaches. */
async function attachVolumes(nodes: readonly NodeLike[]): Promise<void> {
  const attacher = "csi.example.com";
  const objects = nodes.flatMap(({ metadata: { name: nodeName } }) => {
    const metadata = { name: `volume-${nodeName}` };
    const csi = { driver: attacher, volumeHandle: metadata.name };
    const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], csi };
    const source = { persistentVolumeName: metadata.name };
    return [
      { apiVersion: "v1", kind: "PersistentVolume", metadata, spec },
      {
        apiVersion: "storage.k8s.io/v1",
        kind: "VolumeAttachment",
        metadata,
        spec: { attacher, nodeName, source },
      },
    ];
  });
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  // A volume has a finalizer, which no controller of this cluster removes.
  onTestFinished(async () => {
    await cluster.run(["delete", "--ignore-not-found", "--wait=false", "-f", "-"], list);
  });
  await cluster.run(["apply", "-f", "-"], list);
  const attached = ["--subresource=status", "--type=merge", "-p", '{"status":{"attached":true}}'];
  for (const { metadata } of nodes)
    await cluster.run(["patch", "volumeattachment", `volume-${metadata.name}`, ...attached]);
}

const findLeaving = async () => (await listNodes()).find(({ spec }) => spec.unschedulable);

test("a node leaves within its drain timeout and 90 s, with a disruption budget that allows nothing and an attached volume, and the pool says why it waits", async () => {
  await applyWorkload("held", 4, "100m", 4);
  await cluster.run(["rollout", "status", "deployment/held", "--timeout=400s"]);
  await attachVolumes(await listNodes());
  expect((await cluster.alice.request("PUT", pool, { desired_nodes: 1 })).status).toBe(200);
  const leaving = await waitFor("a node to be cordoned", findLeaving);
  const beganAt = Date.now();
  const { name } = leaving.metadata;
  const machines = (await cluster.getManaged("cluster.x-k8s.io/v1beta2", "machines")).items;
  const { spec } = machines.find(
    (one: { status: { nodeRef?: { name: string } } }) => one.status.nodeRef?.name === name,
  );
  const { nodeDrainTimeoutSeconds, nodeVolumeDetachTimeoutSeconds } = spec.deletion;
  expect(nodeDrainTimeoutSeconds).toBe(DRAIN_TIMEOUT_SECONDS);
  expect(nodeVolumeDetachTimeoutSeconds).toBe(60);
  await waitFor("the pool to name the volume that is waited for", async () => {
    const [{ status }] = (await cluster.getManaged("cloud.marina.dev/v1", "nodepools")).items;
    const { message = "" } = status;
    return message.includes(`Node ${name} is drained and waits for its volumes: `) &&
      message.includes(`volume-${name}`)
      ? true
      : Promise.reject(new Error(message));
  });
  await waitFor("the node to leave", async () =>
    (await listNodes()).every(({ metadata }) => metadata.name !== name),
  );
  const seconds = (Date.now() - beganAt) / 1000;
  // Both were waited for, and end in time as multiples of the 20 s after which Cluster API looks again: 30 s are for what follows.
  expect(seconds).toBeGreaterThan(DRAIN_TIMEOUT_SECONDS + nodeVolumeDetachTimeoutSeconds - 10);
  expect(seconds).toBeLessThan(DRAIN_TIMEOUT_SECONDS + 90);
  await waitForRunning(cluster.alice, cluster.path, 1);
});

// From here on the autoscaler owns the pool size.
test("pending pods run when an autoscaler scales the pool", async () => {
  const body = { min_nodes: 1, max_nodes: 4, min_vcpus: 2, max_vcpus: 8 };
  const { status } = await cluster.alice.request("PUT", pool, body);
  expect(status).toBe(200);
  const find = async () =>
    (await cluster.getManaged("cluster.x-k8s.io/v1beta2", "machinedeployments")).items.find(
      (item: { metadata: { labels: Record<string, string> } }) =>
        item.metadata.labels["cluster.x-k8s.io/cluster-name"] === cluster.name,
    );
  const deployment = await waitFor("the pool to be owned by the autoscaler", async () => {
    const found = await find();
    const bound = found.metadata.annotations?.["cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"];
    return bound === "4" ? found : undefined;
  });
  await cluster.run(["apply", "-f", "-"], describeWorkload("wide", 3, "1500m"));
  const pending = await waitFor("a pod that does not fit", async () => {
    const { items } = await cluster.get(
      `${PODS}?labelSelector=app%3Dwide&fieldSelector=status.phase%3DPending`,
    );
    const pod = items.find((one: { status: { conditions?: { reason?: string }[] } }) =>
      one.status.conditions?.some(({ reason }) => reason === "Unschedulable"),
    );
    return pod;
  });
  expect(JSON.stringify(pending.status.conditions)).toContain("Insufficient cpu");
  await cluster.manage("scale", "machinedeployment", deployment.metadata.name, "--replicas=3");
  await cluster.run(["rollout", "status", "deployment/wide", "--timeout=400s"]);
  expect(await listNodes()).toHaveLength(3);
});

test("a taint repels pods that do not tolerate it, and a resize rolls only that pool", async () => {
  const names = (nodes: NodeLike[]) => nodes.map(({ metadata }) => metadata.name).toSorted();
  const others = names(await listNodes());
  const taint = { key: "dedicated", value: "batch", effect: "NoSchedule" };
  const size = { vcpus: 2, memory_gb: 4, disk_gb: 20 };
  const body = { name: "batch", ...size, desired_nodes: 1, node_taints: [taint] };
  const { status, body: batch } = await cluster.alice.request("POST", `${cluster.path}/nodepools`, body);
  expect(status).toBe(202);
  const findBatch = async () => {
    const nodes = (await listNodes()).filter(({ metadata }) => !others.includes(metadata.name));
    const [node] = nodes;
    // It has a not-ready taint until it is ready.
    const taints = node?.spec.taints ?? [];
    const isSettled = nodes.length === 1 && taints.length === 1 && taints[0]?.key === taint.key;
    return isSettled ? node : undefined;
  };
  const first = await waitFor("the node of the new pool", findBatch);
  expect(first.spec.taints).toEqual([taint]);
  await cluster.run(["scale", "deployment", "wide", "--replicas=4"]);
  await waitFor("one of four pods to stay pending although the new node is empty", async () => {
    const { items } = await cluster.get(`${PODS}?labelSelector=app%3Dwide`);
    const waiting = items.filter(
      ({ status: { phase } }: { status: { phase: string } }) => phase !== "Running",
    );
    return waiting.length === 1 && JSON.stringify(waiting[0].status).includes("untolerated taint");
  });
  const resize = await cluster.alice.request("PUT", `${cluster.path}/nodepools/${batch.id}`, { vcpus: 4 });
  expect(resize.status).toBe(200);
  const second = await waitFor("a node of the new size in its place", async () => {
    const node = await findBatch();
    return node?.status.allocatable.cpu === "4" ? node : undefined;
  });
  expect(second.metadata.name).not.toBe(first.metadata.name);
  expect(names(await listNodes()).filter((name) => name !== second.metadata.name)).toEqual(others);
});
