import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import {
  clusterClassKind,
  conditionOf,
  createEngineer,
  type Engineer,
  engineClusterKind,
  machineDeploymentKind,
  machineKind,
  statusOf,
  waitForCluster,
} from "../custom-resources.ts";
import { type Stack, startStack } from "../stack/stack.ts";
import { kubectl, waitFor } from "../stack/testing.ts";

const OF_POOL = "topology.cluster.x-k8s.io/deployment-name=workers";
let stack: Stack;
let engineer: Engineer;

beforeAll(async () => {
  stack = await startStack({ dir: ".marina/faults", fresh: true, engine: "in-memory", onCrash: "report" });
  engineer = await createEngineer(stack.info);
  await engineer.createCluster("saved", {});
  await engineer.createPool("workers", "saved", { desiredNodes: 2 });
  await waitForCluster(engineer, "saved");
}, 300_000);

afterAll(async () => {
  await engineer?.close();
  await stack?.stop();
});

test("an operator killed while a node is being replaced tells of it once, when it is back", async () => {
  const { client, namespace } = engineer;
  const [victim] = (await engineer.getPool("workers")).status?.machines ?? [];
  const operator = stack.part("operator");
  await breakNode(victim?.node ?? "");
  const marked = await waitFor(
    "the mark of the remediation",
    async () => {
      const machine = await client.get(machineKind, namespace, victim?.name ?? "");
      return machine?.status?.conditions?.some(({ type }) => type === "OwnerRemediated");
    },
    { intervalMs: 50 },
  );
  expect(marked).toBe(true);
  await operator.kill("SIGKILL");
  await waitFor("a successor with a node", async () => {
    const machines = await client.listAll(machineKind, { namespace, labelSelector: OF_POOL });
    const whole = machines.filter(({ status }) => status?.nodeRef !== undefined);
    return whole.length === 2 && whole.every(({ metadata }) => metadata.uid !== victim?.uid);
  });
  await operator.start();
  await waitFor("the replacement to be told", async () => (await listReplaced()).length > 0);
  await operator.kill("SIGKILL");
  await operator.start();
  await waitForCluster(engineer, "saved");
  expect(await listReplaced()).toMatchObject([{ oldNode: victim?.node }]);
});

test("another class for a plan rolls nobody; another default reaches every pool at once, and no specification", async () => {
  const { client, namespace } = engineer;
  const clusterClass = await client.get(clusterClassKind, "marina-system", "marina-in-memory-v1");
  const metadata = { name: "marina-in-memory-v2", namespace: "marina-system" };
  await client.create(clusterClassKind, { metadata, spec: clusterClass?.spec }, { fieldManager: "test" });
  const running = await lookAtEngine();
  const plan = { class: "marina-in-memory-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  await withOperator({ MARINA_PLANS: JSON.stringify({ default: plan }) }, async () => {
    // A second cluster shows that the new mapping is in force.
    await engineer.createCluster("mapped", {});
    await waitFor("a new cluster of the new class", async () => {
      const { spec } = (await client.get(engineClusterKind, namespace, "mapped")) ?? {};
      return spec?.topology.classRef.name === "marina-in-memory-v2";
    });
    expect(await lookAtEngine()).toEqual(running);
    expect((await engineer.getCluster("saved")).status?.clusterClass).toBe("marina-in-memory-v1");
    await kubectl(["delete", "clusters.cloud.marina.dev", "mapped", "-n", namespace], { stack: stack.info });
  });
  const { generation } = (await engineer.getPool("workers")).metadata;
  await withOperator({ MARINA_DRAIN_TIMEOUT_SECONDS: "321" }, async () => {
    await waitFor("the default to reach the engine", async () => {
      const { spec } = (await client.get(engineClusterKind, namespace, "saved")) ?? {};
      return spec?.topology.workers.machineDeployments[0].deletion.nodeDrainTimeoutSeconds === 321;
    });
    expect((await engineer.getPool("workers")).metadata.generation).toBe(generation);
    expect((await lookAtEngine()).machines).toEqual(running.machines);
  });
  await waitFor("the old default to be back", async () => {
    const [workers] = await client.listAll(machineDeploymentKind, { namespace, labelSelector: OF_POOL });
    return workers?.spec.template?.spec?.deletion?.nodeDrainTimeoutSeconds === 600;
  });
});

test("objects restored from a backup keep their ids and adopt what runs, without a rollout; a copy is refused", async () => {
  const { client, namespace } = engineer;
  const before = await waitForCluster(engineer, "saved");
  const running = await lookAtEngine();

  const operator = stack.part("operator");
  await operator.kill("SIGKILL");
  const backup = await run(["get", "clusters.cloud.marina.dev,nodepools.cloud.marina.dev", "-o", "yaml"]);
  for (const object of ["nodepools.cloud.marina.dev/workers", "clusters.cloud.marina.dev/saved"]) {
    await run(["patch", object, "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
    await run(["delete", object, "--cascade=orphan"]);
  }
  await run(["apply", "-f", "-"], backup);
  await operator.start();

  const after = await waitForCluster(engineer, "saved");
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.metadata.labels).toEqual(before.metadata.labels);
  expect(after.status).toMatchObject({
    workerSubnet: before.status?.workerSubnet,
    targetVersion: before.status?.targetVersion,
    clusterClass: before.status?.clusterClass,
    nodes: { total: 2, ready: 2 },
  });
  const owner = await waitFor("the engine's object to have the new owner", async () => {
    const { metadata } = (await client.get(engineClusterKind, namespace, "saved")) ?? {};
    return metadata?.ownerReferences?.find(({ uid }: { uid: string }) => uid === after.metadata.uid);
  });
  expect(owner).toMatchObject({ kind: "Cluster", name: "saved" });
  // Long enough for a garbage collector, and for a rollout to begin.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  expect(await lookAtEngine()).toEqual(running);
  expect((await engineer.getPool("workers")).metadata.deletionTimestamp).toBeUndefined();

  const copy = backup
    .replaceAll("name: saved", "name: copied")
    .replaceAll("name: workers", "name: copied-workers");
  await run(["apply", "-f", "-"], copy.replaceAll("clusterName: saved", "clusterName: copied"));
  const refused = await waitFor("the copy to be refused", async () => {
    const cluster = await engineer.getCluster("copied");
    return statusOf(cluster, "Stalled") === "True" ? cluster : undefined;
  });
  expect(conditionOf(refused, "Stalled")).toMatchObject({ reason: "DuplicateID" });
  expect(await client.get(engineClusterKind, namespace, "copied")).toBeUndefined();
  await run(["delete", "clusters.cloud.marina.dev/copied", "nodepools.cloud.marina.dev/copied-workers"]);
  expect((await engineer.getCluster("saved")).status?.workerSubnet).toBe(before.status?.workerSubnet);
  expect(await lookAtEngine()).toEqual(running);
});

/** Runs the operator with other settings in place of the stack's, as a new release would be. */
async function withOperator(settings: Record<string, string>, use: () => Promise<void>): Promise<void> {
  const part = stack.part("operator");
  await part.kill("SIGTERM");
  const file = join(dirname(stack.info.kubeconfig), "operator.env");
  const { PATH = "" } = process.env;
  const other = spawn(process.execPath, [`--env-file=${file}`, "dist/operator.js"], {
    env: { PATH, ...settings },
    stdio: "ignore",
  });
  try {
    await use();
  } finally {
    other.kill("SIGTERM");
    await once(other, "exit");
    await part.start();
  }
}

/** With the engine's own kubeconfig, as somebody who breaks a node would. */
async function breakNode(node: string): Promise<void> {
  const { client, namespace } = engineer;
  const secret = await client.get(secretKind, namespace, "saved-kubeconfig");
  const file = join(dirname(stack.info.kubeconfig), "tenant.kubeconfig");
  writeFileSync(file, Buffer.from(secret?.data?.value ?? "", "base64"), { mode: 0o600 });
  const conditions = [{ type: "Ready", status: "False", reason: "Dead", message: "" }];
  const patch = JSON.stringify({ status: { conditions } });
  await kubectl(["patch", "node", node, "--type=merge", "-p", patch], {
    kubeconfig: file,
    stack: stack.info,
  });
}

async function listReplaced() {
  const { status } = await engineer.getPool("workers");
  return status?.transitions?.filter(({ type }) => type === "NodeReplaced") ?? [];
}

async function run(args: string[], stdin = ""): Promise<string> {
  const all = [...args, "-n", engineer.namespace];
  const { stdout } = await kubectl(all, { stdin, stack: stack.info });
  return stdout;
}

/** What a rollout would change: the machines themselves and the generations of what makes them. */
async function lookAtEngine() {
  const { client, namespace } = engineer;
  const ofSaved = { namespace, labelSelector: "cluster.x-k8s.io/cluster-name=saved" };
  const machines = await client.listAll(machineKind, ofSaved);
  const deployments = await client.listAll(machineDeploymentKind, ofSaved);
  return {
    machines: machines.map(({ metadata }) => metadata.uid ?? "").toSorted(compare),
    deployments: deployments
      .map(({ metadata }) => `${metadata.name} ${metadata.generation}`)
      .toSorted(compare),
  };
}

function compare(left: string, right: string): number {
  return left < right ? -1 : 1;
}
