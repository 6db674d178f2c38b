import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import {
  capiClusterKind,
  clusterClassKind,
  conditionOf,
  createEngineer,
  type Engineer,
  machineDeploymentKind,
  machineKind,
  statusOf,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { breakNode, OF_POOL, readRollout, upgradeInto, withOperator } from "./existing-cluster.ts";

/** Cluster API does not drain a machine that is deleted while it has this annotation. */
const HOLD_MACHINE = "pre-drain.delete.hook.machine.cluster.x-k8s.io/faults";

let stack: Stack;
let engineer: Engineer;

beforeAll(async () => {
  stack = await startStack({ dir: ".marina/faults", fresh: true, provider: "in-memory", onCrash: "report" });
  engineer = await createEngineer(stack.info);
  await engineer.createCluster("existing", {});
  await engineer.createPool("workers", "existing", { desiredNodes: 2 });
  await waitForNodes("existing", 2);
});

afterAll(async () => {
  await engineer?.close();
  await stack?.stop();
});

test("an operator killed while a node is being replaced records the replacement once after its restart", async () => {
  const { client, namespace } = engineer;
  const [victim] = (await engineer.getPool("workers")).status?.machines ?? [];
  const operator = stack.part("operator");
  const hold = (value: string | null) => {
    const patch = { metadata: { annotations: { [HOLD_MACHINE]: value } } };
    return client.mergePatch(machineKind, namespace, victim?.name ?? "", patch, { fieldManager: "test" });
  };
  // Otherwise the condition may be gone with its machine before it is seen.
  await hold("");
  await breakNode(stack, engineer, victim?.node ?? "");
  const marked = await waitFor(
    "the remediation condition",
    async () => {
      const machine = await client.get(machineKind, namespace, victim?.name ?? "");
      return machine?.status?.conditions?.some(({ type }) => type === "OwnerRemediated");
    },
    { intervalMs: 50 },
  );
  expect(marked).toBe(true);
  await operator.kill("SIGKILL");
  await hold(null);
  await waitFor("a successor with a node", async () => {
    const machines = await client.listAll(machineKind, { namespace, labelSelector: OF_POOL });
    const withNode = machines.filter(({ status }) => status?.nodeRef !== undefined);
    return withNode.length === 2 && withNode.every(({ metadata }) => metadata.uid !== victim?.uid);
  });
  await operator.start();
  await waitFor("the replacement to be recorded", async () => (await listReplaced()).length > 0);
  await operator.kill("SIGKILL");
  await operator.start();
  await waitForCluster(engineer, "existing");
  expect(await listReplaced()).toMatchObject([{ oldNode: victim?.node }]);
});

test("another class for a plan reaches clusters with their next upgrade and rolls out nothing before; another default reaches every pool immediately, and no specification", async () => {
  const { client, namespace } = engineer;
  const clusterClass = await client.get(clusterClassKind, "marina-system", "marina-in-memory-v1");
  const metadata = { name: "marina-in-memory-v2", namespace: "marina-system" };
  await client.create(clusterClassKind, { metadata, spec: clusterClass?.spec }, { fieldManager: "test" });
  await engineer.createCluster("older", {});
  await waitForCluster(engineer, "older");
  const running = await readRollout(engineer);
  const plan = { class: "marina-in-memory-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  await withOperator(stack, { MARINA_PLANS: JSON.stringify({ default: plan }) }, async () => {
    // A second cluster shows that the new mapping is in force.
    await engineer.createCluster("mapped", {});
    await waitFor("a new cluster of the new class", async () => {
      const { spec } = (await client.get(capiClusterKind, namespace, "mapped")) ?? {};
      return spec?.topology.classRef.name === "marina-in-memory-v2";
    });
    expect(await readRollout(engineer)).toEqual(running);
    expect((await engineer.getCluster("existing")).status?.clusterClass).toBe("marina-in-memory-v1");
    await upgradeInto(engineer, "older", { version: "1.35", class: "marina-in-memory-v2" });
    const made = ["mapped", "older"];
    await kubectl(["delete", "clusters.cloud.marina.dev", ...made, "-n", namespace], { stack: stack.info });
  });
  const { generation } = (await engineer.getPool("workers")).metadata;
  await withOperator(stack, { MARINA_DRAIN_TIMEOUT_SECONDS: "321" }, async () => {
    await waitFor("the default to reach the pool", async () => (await readDrainTimeout()) === 321);
    expect((await engineer.getPool("workers")).metadata.generation).toBe(generation);
    expect((await readRollout(engineer)).machines).toEqual(running.machines);
  });
  await waitFor("the old default to be restored", async () => (await readDrainTimeout()) === 600);
});

test("objects restored from a backup keep their ids and adopt what runs, without a rollout; a copy is refused", async () => {
  const { client, namespace } = engineer;
  const before = await waitForCluster(engineer, "existing");
  const running = await readRollout(engineer);

  const operator = stack.part("operator");
  await operator.kill("SIGKILL");
  const objects = ["nodepools.cloud.marina.dev/workers", "clusters.cloud.marina.dev/existing"];
  for (const object of objects)
    await run(["patch", object, "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
  const clusters = await run(["get", "clusters.cloud.marina.dev", "-o", "yaml"]);
  const pools = await run(["get", "nodepools.cloud.marina.dev", "-o", "yaml"]);
  for (const object of objects) await run(["delete", object, "--cascade=orphan"]);
  // Kind by kind, as backup programs restore, with an operator that reconciles the cluster as soon as it exists.
  await run(["apply", "-f", "-"], clusters);
  await operator.start();
  await waitFor("the operator to have reconciled the cluster", async () => {
    const { status } = await engineer.getCluster("existing");
    return status?.clusterClass === undefined ? undefined : status;
  });
  expect(await readRollout(engineer)).toEqual(running);
  await run(["apply", "-f", "-"], pools);

  const after = await waitForNodes("existing", 2);
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.metadata.labels).toEqual(before.metadata.labels);
  expect(after.status).toMatchObject({
    workerSubnet: before.status?.workerSubnet,
    targetVersion: before.status?.targetVersion,
    clusterClass: before.status?.clusterClass,
    nodes: { total: 2, ready: 2 },
  });
  const owner = await waitFor("Cluster API's object to have the new owner", async () => {
    const { metadata } = (await client.get(capiClusterKind, namespace, "existing")) ?? {};
    return metadata?.ownerReferences?.find(({ uid }: { uid: string }) => uid === after.metadata.uid);
  });
  expect(owner).toMatchObject({ kind: "Cluster", name: "existing" });
  // Long enough for garbage collection and for a rollout to begin.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  expect(await readRollout(engineer)).toEqual(running);
  expect((await engineer.getPool("workers")).metadata.deletionTimestamp).toBeUndefined();

  const copy = (text: string) =>
    text
      .replaceAll("name: existing", "name: copied")
      .replaceAll("name: workers", "name: copied-workers")
      .replaceAll("clusterName: existing", "clusterName: copied");
  await run(["apply", "-f", "-"], copy(clusters));
  await run(["apply", "-f", "-"], copy(pools));
  const refused = await waitFor("the copy to be refused", async () => {
    const cluster = await engineer.getCluster("copied");
    return statusOf(cluster, "Stalled") === "True" ? cluster : undefined;
  });
  expect(conditionOf(refused, "Stalled")).toMatchObject({ reason: "DuplicateID" });
  expect(await client.get(capiClusterKind, namespace, "copied")).toBeUndefined();
  // The operator deletes the pools of a deleted cluster, so this one may be deleted already.
  const copies = ["clusters.cloud.marina.dev/copied", "nodepools.cloud.marina.dev/copied-workers"];
  await run(["delete", "--ignore-not-found", ...copies]);
  expect((await engineer.getCluster("existing")).status?.workerSubnet).toBe(before.status?.workerSubnet);
  expect(await readRollout(engineer)).toEqual(running);
});

test("without Cluster API's managers and the tenants' APIs, changes are accepted, the outage is reported, and all changes apply later", async () => {
  const before = await waitForCluster(engineer, "existing");
  await withOperator(stack, { MARINA_DEGRADED_AFTER_SECONDS: "10" }, async () => {
    await stack.part("capi-in-memory").kill();
    await engineer.createCluster("stranded", {});
    const degraded = await waitFor("existing to be degraded", async () => {
      const cluster = await waitForMessage("existing", /does not respond|is unavailable/);
      return cluster.status?.phase === "Degraded" ? cluster : undefined;
    });
    await expectReported(
      "existing",
      degraded,
      "Ready",
      /(does not respond|is unavailable): .+ask the platform's operator/,
    );
    const stranded = await waitForMessage(
      "stranded",
      /control plane of stranded is being provisioned: .*ask the platform/,
    );
    await expectReported("stranded", stranded, "Reconciling", /control plane of stranded/);
    expect(conditionOf(stranded, "Stalled")).toBeUndefined();

    await stack.part("capi-core").kill();
    await engineer.patchPool("workers", { spec: { desiredNodes: 3 } });
    const unavailable = await waitFor("Cluster API to be reported as unavailable", async () => {
      const cluster = await engineer.getCluster("existing");
      return conditionOf(cluster, "Reconciling")?.reason === "ClusterAPIUnavailable" ? cluster : undefined;
    });
    expect(conditionOf(unavailable, "Reconciling")?.message).toMatch(
      /does not respond and is retried automatically/,
    );
    await Promise.all(["capi-core", "capi-in-memory"].map((name) => stack.part(name).start()));
    const recovered = await waitForNodes("existing", 3);
    expect(recovered.status?.workerSubnet).toBe(before.status?.workerSubnet);
    const types = recovered.status?.transitions?.map(({ type }) => type);
    expect(types?.slice(-2)).toEqual(["Degraded", "Recovered"]);
    await waitForNodes("stranded", 0);
  });
});

test("a missing class, a refused variable and exhausted subnets: cause, object and next step are reported immediately", async () => {
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
      /class absent does not exist; ask .*operator to install/,
    );
    await expectReported("classless", classless, "Stalled", /absent/);
    // The pool alone is refused: its cluster is made without it.
    const pool = await waitFor("the pool to report it", async () => {
      const { status } = await engineer.getPool("large");
      return status?.message?.includes("vcpus") ? status : undefined;
    });
    expect(pool.message).toMatch(/rejects the node pool large.*vcpus.*Change it, or ask/);
    await engineer.createCluster("subnetless", {});
    const subnetless = await waitForMessage("subnetless", /no free \/24 .*subnetless; delete a cluster/);
    await expectReported("subnetless", subnetless, "Stalled", /no free/);
    for (const name of ["classless", "refused", "subnetless"])
      await client.delete(clusterKind, namespace, name);
    await waitFor("them to be deleted", async () => {
      const left = await client.listAll(clusterKind, { namespace });
      return left.every(({ metadata }) => metadata.deletionTimestamp === undefined);
    });
  });
});

function waitForMessage(name: string, pattern: RegExp): Promise<Cluster> {
  return waitFor(`${name} to report ${pattern}`, async () => {
    const cluster = await engineer.getCluster(name);
    if (pattern.test(cluster.status?.message ?? "")) return cluster;
    throw new Error(`${cluster.status?.phase}: ${cluster.status?.message}`);
  });
}

/** In a condition and in exactly one Event: a Warning, unless it is of a first start that goes on. */
async function expectReported(
  name: string,
  cluster: Cluster,
  type: "Ready" | "Stalled" | "Reconciling",
  pattern: RegExp,
) {
  expect(conditionOf(cluster, type)?.message).toMatch(pattern);
  const severity = type === "Reconciling" ? "Normal" : "Warning";
  const told = await waitFor(`the Event of type ${severity}`, async () => {
    const events = await engineer.listEvents(name);
    const found = events.filter((event) => event.type === severity && pattern.test(event.note ?? ""));
    return found.length > 0 ? found : undefined;
  });
  expect(told.map(({ note }) => note)).toHaveLength(1);
}

function waitForNodes(name: string, nodes: number): Promise<Cluster> {
  return waitFor(`${name} to have ${nodes} nodes`, async () => {
    const cluster = await waitForCluster(engineer, name);
    return cluster.status?.nodes?.ready === nodes ? cluster : undefined;
  });
}

/** What Cluster API has given the pool, which follows its cluster. */
async function readDrainTimeout(): Promise<number | undefined> {
  const { client, namespace } = engineer;
  const [workers] = await client.listAll(machineDeploymentKind, { namespace, labelSelector: OF_POOL });
  return workers?.spec.template?.spec?.deletion?.nodeDrainTimeoutSeconds;
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

test("in the end every machine that runs is recorded and metered", async () => {
  expect(await requireEveryMachineMetered(stack.info)).toBeDefined();
});
