import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type Stack, startStack } from "../stack/stack.ts";
import { kubectl, waitFor } from "../stack/testing.ts";
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
} from "../testing/custom-resources.ts";
import { breakNode, lookAtEngine, OF_POOL, withOperator } from "./saved-cluster.ts";

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
  await breakNode(stack, engineer, victim?.node ?? "");
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
  const running = await lookAtEngine(engineer);
  const plan = { class: "marina-in-memory-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  await withOperator(stack, { MARINA_PLANS: JSON.stringify({ default: plan }) }, async () => {
    // A second cluster shows that the new mapping is in force.
    await engineer.createCluster("mapped", {});
    await waitFor("a new cluster of the new class", async () => {
      const { spec } = (await client.get(engineClusterKind, namespace, "mapped")) ?? {};
      return spec?.topology.classRef.name === "marina-in-memory-v2";
    });
    expect(await lookAtEngine(engineer)).toEqual(running);
    expect((await engineer.getCluster("saved")).status?.clusterClass).toBe("marina-in-memory-v1");
    await kubectl(["delete", "clusters.cloud.marina.dev", "mapped", "-n", namespace], { stack: stack.info });
  });
  const { generation } = (await engineer.getPool("workers")).metadata;
  await withOperator(stack, { MARINA_DRAIN_TIMEOUT_SECONDS: "321" }, async () => {
    await waitFor("the default to reach the engine", async () => {
      const { spec } = (await client.get(engineClusterKind, namespace, "saved")) ?? {};
      return spec?.topology.workers.machineDeployments[0].deletion.nodeDrainTimeoutSeconds === 321;
    });
    expect((await engineer.getPool("workers")).metadata.generation).toBe(generation);
    expect((await lookAtEngine(engineer)).machines).toEqual(running.machines);
  });
  await waitFor("the old default to be back", async () => {
    const [workers] = await client.listAll(machineDeploymentKind, { namespace, labelSelector: OF_POOL });
    return workers?.spec.template?.spec?.deletion?.nodeDrainTimeoutSeconds === 600;
  });
});

test("objects restored from a backup keep their ids and adopt what runs, without a rollout, the cluster first; a copy is refused", async () => {
  const { client, namespace } = engineer;
  const before = await waitForCluster(engineer, "saved");
  const running = await lookAtEngine(engineer);

  const operator = stack.part("operator");
  await operator.kill("SIGKILL");
  const saved = ["nodepools.cloud.marina.dev/workers", "clusters.cloud.marina.dev/saved"];
  for (const object of saved)
    await run(["patch", object, "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
  const clusters = await run(["get", "clusters.cloud.marina.dev", "-o", "yaml"]);
  const pools = await run(["get", "nodepools.cloud.marina.dev", "-o", "yaml"]);
  for (const object of saved) await run(["delete", object, "--cascade=orphan"]);
  // Kind by kind, as backup programs restore, under an operator that looks at the cluster as soon as it is there.
  await run(["apply", "-f", "-"], clusters);
  await operator.start();
  await waitFor("the operator to have looked at the cluster", async () => {
    const { status } = await engineer.getCluster("saved");
    return status?.clusterClass === undefined ? undefined : status;
  });
  expect(await lookAtEngine(engineer)).toEqual(running);
  await run(["apply", "-f", "-"], pools);

  const after = await waitForNodes("saved", 2);
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
  expect(await lookAtEngine(engineer)).toEqual(running);
  expect((await engineer.getPool("workers")).metadata.deletionTimestamp).toBeUndefined();

  const copy = (text: string) =>
    text
      .replaceAll("name: saved", "name: copied")
      .replaceAll("name: workers", "name: copied-workers")
      .replaceAll("clusterName: saved", "clusterName: copied");
  await run(["apply", "-f", "-"], copy(clusters));
  await run(["apply", "-f", "-"], copy(pools));
  const refused = await waitFor("the copy to be refused", async () => {
    const cluster = await engineer.getCluster("copied");
    return statusOf(cluster, "Stalled") === "True" ? cluster : undefined;
  });
  expect(conditionOf(refused, "Stalled")).toMatchObject({ reason: "DuplicateID" });
  expect(await client.get(engineClusterKind, namespace, "copied")).toBeUndefined();
  await run(["delete", "clusters.cloud.marina.dev/copied", "nodepools.cloud.marina.dev/copied-workers"]);
  expect((await engineer.getCluster("saved")).status?.workerSubnet).toBe(before.status?.workerSubnet);
  expect(await lookAtEngine(engineer)).toEqual(running);
});

test("without Cluster API's managers and the tenants' APIs users change things, are told what is away, and get it all later", async () => {
  const before = await waitForCluster(engineer, "saved");
  await withOperator(stack, { MARINA_DEGRADED_AFTER_SECONDS: "10" }, async () => {
    await stack.part("capi-in-memory").kill();
    await engineer.createCluster("stranded", {});
    const degraded = await waitForMessage("saved", /does not answer|is not well/);
    expect(degraded.status?.phase).toBe("Degraded");
    await expectTold(
      "saved",
      degraded,
      "Ready",
      /(does not answer|is not well): .+ask the platform's operator/,
    );
    const stranded = await waitForMessage(
      "stranded",
      /control plane of stranded is being made: .*ask the platform/,
    );
    await expectTold("stranded", stranded, "Reconciling", /failed calling webhook/);
    expect(statusOf(stranded, "Stalled")).toBe("False");

    await stack.part("capi-core").kill();
    await engineer.patchPool("workers", { spec: { desiredNodes: 3 } });
    const silent = await waitFor("the engine to be called away", async () => {
      const cluster = await engineer.getCluster("saved");
      return conditionOf(cluster, "Reconciling")?.reason === "EngineUnavailable" ? cluster : undefined;
    });
    expect(conditionOf(silent, "Reconciling")?.message).toMatch(
      /does not answer and is asked again by itself/,
    );
    await Promise.all(["capi-core", "capi-in-memory"].map((name) => stack.part(name).start()));
    const recovered = await waitForNodes("saved", 3);
    expect(recovered.status?.workerSubnet).toBe(before.status?.workerSubnet);
    const types = recovered.status?.transitions?.map(({ type }) => type);
    expect(types?.slice(-2)).toEqual(["Degraded", "Recovered"]);
    await waitForNodes("stranded", 0);
  });
});

test("a missing class, a refused variable and the end of the subnets: cause, object and next step are told at once", async () => {
  const { client, namespace } = engineer;
  const platform = "marina-system";
  const found = await client.get(clusterClassKind, platform, "marina-in-memory-v1");
  const spec = JSON.parse(JSON.stringify(found?.spec).replace('"maximum":128', '"maximum":1'));
  await client.create(
    clusterClassKind,
    { metadata: { name: "tiny", namespace: platform }, spec },
    { fieldManager: "test" },
  );
  const plan = (name: string) => ({ class: name, namespace: platform, controlPlaneReplicas: 1 });
  const plans = { default: plan("marina-in-memory-v1"), dev: plan("absent"), starter: plan("tiny") };
  const settings = { MARINA_PLANS: JSON.stringify(plans), MARINA_SUBNET_RANGE: "10.99.0.0/24" };
  await withOperator(stack, settings, async () => {
    await engineer.createCluster("classless", { plan: "dev" });
    await engineer.createCluster("refused", { plan: "starter" });
    await engineer.createPool("large", "refused", { vcpus: 2 });
    const classless = await waitForMessage(
      "classless",
      /class marina-system\/absent does not exist; ask .*operator to install/,
    );
    await expectTold("classless", classless, "Stalled", /absent/);
    const refused = await waitForMessage("refused", /does not accept .*vcpus.*Change the specification/);
    await expectTold("refused", refused, "Stalled", /vcpus/);
    const pool = await waitFor("the pool to say so", async () => {
      const { status } = await engineer.getPool("large");
      return status?.message?.includes("vcpus") ? status : undefined;
    });
    expect(pool).toMatchObject({ phase: "Failed" });
    await engineer.createCluster("homeless", {});
    const homeless = await waitForMessage("homeless", /no free \/24 .*homeless; delete a cluster/);
    await expectTold("homeless", homeless, "Stalled", /no free/);
    for (const name of ["classless", "refused", "homeless"])
      await client.delete(clusterKind, namespace, name);
    await waitFor("them to be gone", async () => {
      const left = await client.listAll(clusterKind, { namespace });
      return left.every(({ metadata }) => metadata.deletionTimestamp === undefined);
    });
  });
});

/** What is stuck is told of within a minute; the rest is for the way there. */
function waitForMessage(name: string, words: RegExp): Promise<Cluster> {
  return waitFor(
    `${name} to tell ${words}`,
    async () => {
      const cluster = await engineer.getCluster(name);
      if (words.test(cluster.status?.message ?? "")) return cluster;
      throw new Error(`${cluster.status?.phase}: ${cluster.status?.message}`);
    },
    { timeoutMs: 75_000 },
  );
}

/** Not in the message alone: in a condition and in one Warning, too. */
async function expectTold(
  name: string,
  cluster: Cluster,
  type: "Ready" | "Stalled" | "Reconciling",
  words: RegExp,
) {
  expect(conditionOf(cluster, type)?.message).toMatch(words);
  const warnings = await waitFor("the Warning", async () => {
    const events = await engineer.listEvents(name);
    const found = events.filter((event) => event.type === "Warning" && words.test(event.note ?? ""));
    return found.length > 0 ? found : undefined;
  });
  expect(warnings.map(({ note }) => note)).toHaveLength(1);
}

function waitForNodes(name: string, nodes: number): Promise<Cluster> {
  return waitFor(`${name} to have ${nodes} nodes`, async () => {
    const cluster = await waitForCluster(engineer, name);
    return cluster.status?.nodes?.ready === nodes ? cluster : undefined;
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
