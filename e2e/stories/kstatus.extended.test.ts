import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { type ArgoCDHealth, readArgoCDHealth } from "../testing/argo-cd-health.ts";
import {
  conditionOf,
  createEngineer,
  type Engineer,
  machineKind,
  statusOf,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { type KStatus, type KStatusReader, openKStatus } from "../testing/kstatus.ts";

let engineer: Engineer;
let kstatus: KStatusReader;

beforeAll(async () => {
  engineer = await createEngineer(readStack());
  kstatus = await openKStatus();
});

afterAll(async () => {
  await engineer?.close();
  await kstatus?.close();
});

test("kstatus agrees with every state of a cluster and its pool: created, scaled, upgraded, refused, suspended, deleted", async () => {
  // The pool first, or the cluster may be current before it has one.
  await engineer.createPool("workers", "honest", { desiredNodes: 1 });
  await engineer.createCluster("honest", {});
  await waitForRest();
  await expectStory("honest", ["InProgress", "Current"]);
  await expectStory("workers", ["InProgress", "Current"]);

  for (const desiredNodes of [2, 0]) {
    const [clusterFrom, poolFrom] = [await findNow("honest"), await findNow("workers")];
    await engineer.patchPool("workers", { spec: { desiredNodes } });
    await waitForNodes(desiredNodes);
    await expectStory("workers", ["Current", "InProgress", "Current"], poolFrom);
    await expectStory("honest", ["Current", "InProgress", "Current"], clusterFrom);
  }

  let from = await findNow("honest");
  await engineer.patchCluster("honest", { spec: { version: "1.35" } });
  await waitFor(
    "the upgrade to complete",
    async () => (await engineer.getCluster("honest")).status?.version === "1.35.1",
  );
  await waitForRest();
  await expectStory("honest", ["Current", "InProgress", "Current"], from);

  from = await findNow("honest");
  await engineer.patchCluster("honest", { spec: { version: "1.35.9" } });
  await waitFor(
    "the refusal",
    async () => statusOf(await engineer.getCluster("honest"), "Stalled") === "True",
  );
  await expectStory("honest", ["Current", "InProgress", "Failed"], from);
  await engineer.patchCluster("honest", { spec: { version: "1.35" } });
  await waitForRest();
  await expectStory("honest", ["Current", "InProgress", "Failed", "InProgress", "Current"], from);

  from = await findNow("honest");
  await engineer.patchCluster("honest", { spec: { suspend: true } });
  await waitFor(
    "the suspension",
    async () => statusOf(await engineer.getCluster("honest"), "Suspended") === "True",
  );
  await expectStory("honest", ["Current", "InProgress"], from);
  await engineer.patchCluster("honest", { spec: { suspend: false } });
  await waitForRest();
  await expectStory("honest", ["Current", "InProgress", "Current"], from);

  const poolFrom = await findNow("workers");
  from = await findNow("honest");
  const gone = ["delete", "clusters.cloud.marina.dev", "honest", "-n", engineer.namespace];
  await kubectl(gone);
  await expectStory("honest", ["Current", "Terminating"], from);
  await expectStory("workers", ["Current", "Terminating"], poolFrom);
});

interface Change {
  spec: Partial<NodePool["spec"]>;
  /** What the machine has then; undefined = it is another machine. */
  machine?: object;
}

/** A change of each field by the name of its pool. */
const CHANGES: Record<string, Change> = {
  labels: {
    spec: { nodeLabels: { tier: "web" } },
    machine: { metadata: { labels: { tier: "web" } } },
  },
  drain: {
    spec: { drainTimeoutSeconds: 45 },
    machine: { spec: { deletion: { nodeDrainTimeoutSeconds: 45 } } },
  },
  vcpus: { spec: { vcpus: 3 } },
  memory: { spec: { memoryGB: 6 } },
  disk: { spec: { diskGB: 30 } },
};

test("kstatus calls a pool current only when every machine has the change of a field", async () => {
  const names = Object.keys(CHANGES);
  await engineer.createCluster("fields", {});
  for (const name of names) await engineer.createPool(name, "fields", { desiredNodes: 1 });
  await Promise.all(names.map((name) => waitForCurrent(name)));
  await Promise.all(
    Object.entries(CHANGES).map(async ([name, { spec, machine }]) => {
      const from = await findNow(name);
      const [before] = (await engineer.getPool(name)).status?.machines ?? [];
      await engineer.patchPool(name, { spec });
      await waitForCurrent(name);
      const machines = await listMachines(name);
      expect(machines).toHaveLength(1);
      expect(machines.map(({ metadata }) => metadata.uid).includes(before?.uid ?? "")).toBe(
        machine !== undefined,
      );
      expect(machines).toMatchObject([machine ?? {}]);
      await expectStory(name, ["Current", "InProgress", "Current"], from);
    }),
  );
});

async function waitForCurrent(name: string): Promise<void> {
  await waitFor(`${name} to be current`, async () => {
    const result = await kstatus.compute(await engineer.getPool(name));
    return result === "Current";
  });
}

async function listMachines(pool: string) {
  return engineer.client.listAll(machineKind, {
    namespace: engineer.namespace,
    labelSelector: `topology.cluster.x-k8s.io/deployment-name=${pool}`,
  });
}

/** What Argo CD may say of an object for which kstatus gives this result. */
const HEALTHS: Record<KStatus, readonly ArgoCDHealth[]> = {
  InProgress: ["Progressing", "Suspended"],
  Current: ["Healthy"],
  Failed: ["Degraded"],
  Terminating: ["Progressing"],
  NotFound: [],
  Unknown: [],
};

/**
 * The kstatus results of the states, without repetitions; each must agree with the conditions of the object, and with
 * Argo CD.
 */
async function expectStory(name: string, story: KStatus[], from = 0): Promise<void> {
  await waitForHistory(name);
  const results: KStatus[] = [];
  const states = engineer.history.of(name).slice(from);
  const healths = await readArgoCDHealth(states);
  for (const [n, state] of states.entries()) {
    const result = await kstatus.compute(state);
    expect(result, `${JSON.stringify(state.status)} of generation ${state.metadata.generation}`).toBe(
      judge(state),
    );
    expect(HEALTHS[result]).toContain(healths[n]);
    if (results.at(-1) !== result) results.push(result);
  }
  expect(results).toEqual(story);
}

/** Until the history has the state of now; of a deleted object, one in which it was being deleted. */
async function waitForHistory(name: string): Promise<void> {
  await waitFor("the history to be up to date", async () => {
    const { client, namespace } = engineer;
    const kind: Kind<KubeObject> = name === "honest" ? clusterKind : nodePoolKind;
    const now = (await client.get(kind, namespace, name))?.metadata.resourceVersion;
    const last = engineer.history.of(name).at(-1)?.metadata;
    return now === undefined ? last?.deletionTimestamp !== undefined : now === last?.resourceVersion;
  });
}

/** The place of the state of now in the history: what is written of it late belongs to the same part of the story. */
async function findNow(name: string): Promise<number> {
  await waitForHistory(name);
  return engineer.history.of(name).length - 1;
}

/** The rule: what goes away terminates, what only people can help has failed, what moves or waits is in progress. */
function judge(object: Cluster | NodePool): KStatus {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  if (status?.observedGeneration !== metadata.generation) return "InProgress";
  if (statusOf(object, "Stalled") === "True") return "Failed";
  if (statusOf(object, "Reconciling") === "True" || statusOf(object, "Ready") !== "True") return "InProgress";
  return "Current";
}

async function waitForNodes(nodes: number): Promise<void> {
  await waitFor(`${nodes} nodes`, async () => {
    const pool = await engineer.getPool("workers");
    const converged = pool.status?.observedGeneration === pool.metadata.generation;
    const isReady = converged && pool.status?.readyNodes === nodes && pool.status.phase === "Ready";
    return isReady && (await engineer.getCluster("honest")).status?.nodes?.ready === nodes;
  });
  await waitForRest();
}

/** Until cluster and pool have nothing left to do. */
async function waitForRest(): Promise<void> {
  await waitFor("rest", async () => {
    const both = [await waitForCluster(engineer, "honest"), await engineer.getPool("workers")];
    return both.every(
      (object) =>
        object.status?.observedGeneration === object.metadata.generation &&
        statusOf(object, "Reconciling") === "False" &&
        conditionOf(object, "Stalled") === undefined,
    );
  });
}
