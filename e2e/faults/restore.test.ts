import { afterAll, beforeAll, expect, test } from "vitest";
import {
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

let stack: Stack;
let engineer: Engineer;

beforeAll(async () => {
  stack = await startStack({ dir: ".marina/faults", fresh: true, onCrash: "report" });
  engineer = await createEngineer(stack.info);
});

afterAll(async () => {
  await engineer?.close();
  await stack?.stop();
});

test("objects restored from a backup keep their ids and adopt what runs, without a rollout; a copy is refused", async () => {
  const { client, namespace } = engineer;
  await engineer.createCluster("saved", {});
  await engineer.createPool("workers", "saved", { desiredNodes: 2 });
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
}, 300_000);

async function run(args: string[], stdin = ""): Promise<string> {
  const all = [...args, "-n", engineer.namespace];
  const { stdout } = await kubectl(all, { stdin, stack: stack.info });
  return stdout;
}

/** What a rollout would change: the machines themselves and the generations of what makes them. */
async function lookAtEngine() {
  const { client, namespace } = engineer;
  const machines = await client.listAll(machineKind, { namespace });
  const deployments = await client.listAll(machineDeploymentKind, { namespace });
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
