import { eq } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readPartEnvironment } from "../../../e2e/platform/stack/part-environment.ts";
import { readStack, waitFor } from "../../../e2e/platform/stack/testing.ts";
import {
  createEngineer,
  type Engineer,
  machineDeploymentKind,
  waitForCluster,
} from "../../../e2e/testing/custom-resources.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { isBilled, type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { ensureNamespace } from "../../organizations/index.ts";
import { startProjector } from "../../resources/project/projector.ts";
import { startTestApp } from "../../testing/app.ts";
import { rebuildIntervals } from "./apply-evidence.ts";
import { listEvidence } from "./ledger-store.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { runRound } from "./round.ts";
import { usageIntervals } from "./table.ts";

/** Cluster API gives it to the node group of an autoscaled pool. */
const MAX_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

/** A finalizer of somebody else. */
const KEPT = "example.com/keep";

const api = setUp(startTestApp);
let engineer: Engineer;
let orgId: string;
let round: () => Promise<void>;
let stopProjector: () => Promise<void>;

beforeAll(async () => {
  orgId = await api.createOrganization();
  // A request waits for it for 2 s, and no job runs here.
  await ensureNamespace(api.deps, orgId);
  const deps = { ...api.deps, ledgerMetrics: createLedgerMetrics(api.deps.metrics) };
  round = () => runRound(deps, new AbortController().signal);
  engineer = await createEngineer(readStack(), orgId);
  await engineer.createCluster("shop", { plan: "dev" });
  await engineer.createPool("web", "shop", { desiredNodes: 2 });
  await engineer.createPool("auto", "shop", { desiredNodes: 1, vcpus: 1, memoryGB: 2 });
  await waitForCluster(engineer, "shop");
  await start();
});
afterAll(async () => {
  await stopProjector();
  await engineer.close();
});

async function start(): Promise<void> {
  const stop = new AbortController();
  const projector = startProjector(api.deps, stop.signal);
  stopProjector = async () => {
    stop.abort();
    await projector.stopped;
  };
  await waitFor("the projector", async () => projector.synced());
}

async function readLedger() {
  const isOwn = eq(usageIntervals.organizationId, orgId);
  const rows = await api.deps.db.select().from(usageIntervals).where(isOwn);
  return rows.map((row) => ({
    subject: row.subject,
    use: `${row.resourceType} ${row.quantity}`,
    startedAt: row.startedAt.getTime(),
    endedAt: row.endedAt?.getTime() ?? null,
  }));
}

/** What the ledger has to hold of the machines that a pool has or had within the last day. */
function expectedOf({ status }: NodePool) {
  const { machines = [], goneMachines = [] } = status ?? {};
  const all = [
    ...machines.map((machine) => ({ ...machine, goneAt: undefined, hadNode: isBilled(machine) })),
    ...goneMachines,
  ];
  return all
    .filter(({ hadNode }) => hadNode)
    .flatMap(({ uid, createdAt, goneAt, vcpus, memoryGB, diskGB }) =>
      [`vcpu ${vcpus}`, `memory ${memoryGB}`, `disk ${diskGB}`].map((use) => ({
        subject: uid,
        use,
        startedAt: Date.parse(createdAt),
        endedAt: goneAt === undefined ? null : Date.parse(goneAt),
      })),
    );
}

/** As an agent of the platform, which knows nothing of the operator, applies what it measured. */
const reportUsage = (usage: object) =>
  engineer.client.apply(
    clusterKind,
    { metadata: { name: "shop", namespace: engineer.namespace }, status: { usage } },
    { fieldManager: "storage-agent", subresource: "status" },
  );

const byText = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();

/** Waits until the ledger holds exactly what the pools list, with `running` machines in use. */
async function expectMachines(running: number): Promise<void> {
  await waitFor("the ledger to equal the machines of the pools", async () => {
    await round();
    const pools = await Promise.all(["web", "auto"].map((name) => engineer.getPool(name)));
    const machines = (await readLedger()).filter(({ use }) => /^(vcpu|memory|disk) /.test(use));
    const expected = pools.flatMap(expectedOf);
    const found = machines.filter(({ use, endedAt }) => use.startsWith("vcpu") && endedAt === null).length;
    expect(byText(machines)).toEqual(byText(expected));
    expect(found).toBe(running);
    return true;
  });
}

describe("the life of a cluster", () => {
  test("control plane and package count from the first Ready, the address from when it was seen", async () => {
    const { status, metadata } = await engineer.getCluster("shop");
    await waitFor("the control plane in the ledger", async () => {
      await round();
      return (await readLedger()).some(({ use }) => use === "control_plane 1");
    });
    const ofCluster = (await readLedger()).filter(
      ({ subject }) => subject === metadata.labels?.["cloud.marina.dev/id"],
    );
    const startedAt = Date.parse(status?.firstReadyAt ?? "");
    expect(ofCluster).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ use: "control_plane 1", startedAt, endedAt: null }),
        expect.objectContaining({ use: "plan:dev 1", startedAt, endedAt: null }),
      ]),
    );
    expect(ofCluster.some(({ use }) => use === "public_ip 1")).toBe(status?.publicAddress !== undefined);
  });

  test("machines count once their infrastructure exists, of which no tenant decides", async () => {
    const { machines = [] } = (await engineer.getPool("web")).status ?? {};
    expect(machines.map(({ provisioned }) => provisioned)).toEqual([true, true]);
  });

  test("machines count from their creation, also those that a person adds, replaces or resizes", async () => {
    await expectMachines(3);
    await engineer.patchPool("web", { spec: { desiredNodes: 3 } });
    await expectMachines(4);
    const { machines: all = [] } = (await engineer.getPool("web")).status ?? {};
    // The newest may have none yet.
    const node = all.flatMap((machine) => machine.node ?? []).at(0);
    const annotations = { [`replace.cloud.marina.dev/${node}`]: "once" };
    await engineer.patchPool("web", { metadata: { annotations } });
    await waitFor("the node to be replaced", async () =>
      (await engineer.getPool("web")).status?.transitions?.some(({ type }) => type === "NodeReplaced"),
    );
    await expectMachines(4);
    expect((await engineer.getPool("web")).status?.goneMachines).toHaveLength(1);
    await engineer.patchPool("web", { spec: { vcpus: 4 } });
    await waitFor("machines of the other size", async () => {
      const { machines = [], phase } = (await engineer.getPool("web")).status ?? {};
      return phase === "Ready" && machines.length === 3 && machines.every(({ vcpus }) => vcpus === 4);
    });
    await expectMachines(4);
    const { goneMachines } = (await engineer.getPool("web")).status ?? {};
    expect(goneMachines?.map(({ vcpus }) => vcpus)).toEqual([2, 2, 2, 2]);
  });

  test("machines count that the autoscaler makes and removes while no API server runs", async () => {
    await engineer.patchPool("auto", { spec: { maxVCPUs: 4, maxMemoryGB: 8 } });
    const { client, namespace } = engineer;
    // Until then Cluster API sets the number of nodes that the pool had as one of a fixed size.
    const { metadata } = await waitFor("Cluster API to leave the number of nodes", async () => {
      const [found] = await client.listAll(machineDeploymentKind, {
        namespace,
        labelSelector: "topology.cluster.x-k8s.io/deployment-name=auto",
      });
      return found?.metadata.annotations?.[MAX_SIZE] === undefined ? undefined : found;
    });
    const scale = async (replicas: number) => {
      const by = { fieldManager: "cluster-autoscaler" };
      await client.mergePatch(machineDeploymentKind, namespace, metadata.name, { spec: { replicas } }, by);
      await waitFor(`${replicas} nodes`, async () => {
        const { status } = await engineer.getPool("auto");
        return status?.readyNodes === replicas && status.machines?.length === replicas;
      });
    };
    await stopProjector();
    await scale(3);
    await scale(1);
    await start();
    await expectMachines(4);
    expect((await engineer.getPool("auto")).status?.goneMachines).toHaveLength(2);
  });

  test("what an agent reports in the status counts, and the operator leaves it there", async () => {
    const running = async () =>
      (await readLedger())
        .filter(({ use, endedAt }) => /^(storage_block|loadbalancer|snapshot) /.test(use) && endedAt === null)
        .map(({ use }) => use)
        .sort();
    const expectRunning = (uses: string[]) =>
      waitFor(`${uses.join(", ")} in the ledger`, async () => {
        await round();
        expect(await running()).toEqual(uses);
        return true;
      });
    await reportUsage({ blockStorageGB: 10, loadBalancers: 1 });
    await expectRunning(["loadbalancer 1", "storage_block 10"]);
    await engineer.patchCluster("shop", { spec: { credentialsGeneration: 1 } });
    await waitFor("the operator to write the status", async () => {
      const { metadata, status } = await engineer.getCluster("shop");
      return metadata.generation === status?.observedGeneration;
    });
    expect((await engineer.getCluster("shop")).status?.usage).toEqual({
      blockStorageGB: 10,
      loadBalancers: 1,
    });
    await reportUsage({ blockStorageGB: 12, snapshotGB: 3 });
    await expectRunning(["snapshot 3", "storage_block 12"]);
  });

  test("nothing counts any more after its deletion, whoever keeps the objects, and all of it stays in the ledger", async () => {
    const before = await readLedger();
    const { client, namespace } = engineer;
    const keep = { metadata: { finalizers: ["cloud.marina.dev/operator", KEPT] } };
    await engineer.patchCluster("shop", keep);
    await engineer.patchPool("web", keep);
    const gone = await engineer.getPool("auto");
    await engineer.client.delete(nodePoolKind, engineer.namespace, "auto");
    await waitFor("the pool's machines to end", async () => {
      await round();
      const uids = new Set(gone.status?.machines?.map(({ uid }) => uid));
      return (await readLedger()).every(({ subject, endedAt }) => !uids.has(subject) || endedAt !== null);
    });
    await engineer.client.delete(clusterKind, engineer.namespace, "shop");
    await waitFor("everything to end", async () => {
      await round();
      return (await readLedger()).every(({ endedAt }) => endedAt !== null);
    });
    const kept = await Promise.all([engineer.getCluster("shop"), engineer.getPool("web")]);
    expect(kept.map(({ metadata }) => metadata.finalizers)).toEqual([[KEPT], [KEPT]]);
    const released = { metadata: { finalizers: null } };
    await engineer.patchCluster("shop", released);
    await engineer.patchPool("web", released);
    await waitFor("the objects to go", async () => {
      await round();
      return (await client.get(clusterKind, namespace, "shop")) === undefined;
    });
    const after = await readLedger();
    expect(after.length).toBeGreaterThanOrEqual(before.length);
    expect(after.every(({ startedAt, endedAt }) => (endedAt ?? 0) >= startedAt)).toBe(true);
  });

  test("the running service has written the same, with its own rights in the database", async () => {
    const own = (await readLedger()).filter(({ use }) => /^(control_plane|plan|vcpu|memory|disk)/.test(use));
    const service = postgres(readPartEnvironment("apiserver").MARINA_DATABASE_URL ?? "", { max: 1 });
    try {
      await waitFor("the ledger of the service", async () => {
        const rows = await service`
          select subject, resource_type || ' ' || quantity as use, started_at as "startedAt", ended_at as "endedAt"
          from usage_intervals where organization_id = ${orgId} and resource_type in ('control_plane', 'plan:dev', 'vcpu', 'memory', 'disk')`;
        const comparable = rows.map(({ subject, use, startedAt }) => ({
          subject,
          use,
          startedAt: Number(startedAt),
        }));
        expect(byText(comparable)).toEqual(
          byText(own.map(({ subject, use, startedAt }) => ({ subject, use, startedAt }))),
        );
        expect(rows.every(({ endedAt }) => endedAt !== null)).toBe(true);
        return true;
      });
    } finally {
      await service.end();
    }
  });

  test("a rebuild from the evidence gives the same intervals", async () => {
    const evidence = (await listEvidence(api.deps.db)).filter(
      ({ organizationId }) => organizationId === orgId,
    );
    const rebuilt = rebuildIntervals(evidence, () => crypto.randomUUID());
    const comparable = rebuilt.map(({ subject, resourceType, quantity, startedAt, endedAt }) => ({
      subject,
      use: `${resourceType} ${quantity}`,
      startedAt: startedAt.getTime(),
      endedAt: endedAt?.getTime() ?? null,
    }));
    expect(rebuilt.length).toBeGreaterThan(10);
    expect(byText(comparable)).toEqual(byText(await readLedger()));
  });
});
