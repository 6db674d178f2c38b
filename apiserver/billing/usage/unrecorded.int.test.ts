import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { UNRECORDED_CONFIG_MAP } from "../../../shared/crd/names.ts";
import { type UnrecordedUse, writeUnrecorded } from "../../../shared/crd/published-config.ts";
import { openTestApi, type TestApi } from "../../../shared/crd/testing.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { createId } from "../../../shared/program/id.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import {
  type ProjectedCluster,
  type ProjectedNodePool,
  projectObservations,
} from "../../resources/project/index.ts";
import { syncPeriods } from "../../resources/project/table.ts";
import { projected, projectedPool } from "../../resources/project/testing.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { runRound } from "./round.ts";
import { HOUR_MS, readHours, SIZE } from "./testing.ts";
import { endUnpublished, followUnrecorded } from "./unrecorded.ts";

const TEST = { fieldManager: "test" };
const ago = (hours: number) => new Date(Math.floor((Date.now() - hours * HOUR_MS) / 1000) * 1000);
const SHOWN = ["control_plane", "vcpu", "storage_block", "loadbalancer"];

let api: TestApp;
let platform: TestApi;
let deps: Parameters<typeof followUnrecorded>[0];
let cluster: ProjectedCluster;
let pool: ProjectedNodePool;
let machine: string;
let n = 500;
let version = 5_000n;
/** Undefined: now. */
let clock: Date | undefined;

/** A platform of its own, whose operator the test plays. */
beforeAll(async () => {
  [api, platform] = await Promise.all([startTestApp(), openTestApi()]);
  const ledgerMetrics = createLedgerMetrics(createRegistry());
  const config = { platformNamespace: platform.namespace };
  deps = { ...api.deps, kube: platform.client, config, ledgerMetrics, now: () => clock ?? new Date() };
});
afterAll(async () => {
  await platform.close();
  await api.close();
});

/** A cluster with one machine, which the ledger has had for nine hours. */
beforeEach(async () => {
  await api.deps.db.delete(syncPeriods);
  n += 2;
  const ready = projected(createId(), n);
  const status = { firstReadyAt: ago(9).toISOString() };
  cluster = { ...ready, object: { ...ready.object, status } };
  machine = createId();
  const listed = { uid: machine, name: machine, node: "node", ready: true, createdAt: ago(9).toISOString() };
  const made = projectedPool(cluster, n + 1);
  pool = { ...made, object: { ...made.object, status: { machines: [{ ...listed, ...SIZE }] } } };
  await project(cluster);
  await project(pool);
  await round();
});

function project(object: ProjectedCluster | ProjectedNodePool, deleted = false) {
  version += 1n;
  const observation = { object: { ...object, resourceVersion: version }, deleted };
  return api.deps.db.transaction((tx) => projectObservations(tx, [observation]));
}

const round = () => runRound(deps, new AbortController().signal);

/** The Cluster uses this besides, as a round sees it so many hours ago; another object where it has another uid. */
async function useAt(hours: number, usage: object, uid = cluster.uid) {
  const status = { ...cluster.object.status, usage };
  cluster = { ...cluster, uid, object: { ...cluster.object, status } };
  await project(cluster);
  clock = ago(hours);
  await round();
  clock = undefined;
}

/** The objects do not exist any more, and were last seen so many hours ago. */
async function loseAt(hours: number, ...objects: (ProjectedCluster | ProjectedNodePool)[]) {
  for (const object of objects) await project(object, true);
  const watch = { id: createId(), startedAt: ago(20), seenAt: ago(hours) };
  await api.deps.db.insert(syncPeriods).values(watch);
}

const lose = (...objects: (ProjectedCluster | ProjectedNodePool)[]) => loseAt(5, ...objects);

/** The API server reads it twice, and two replicas at once. */
async function publish(...uses: UnrecordedUse[]) {
  const metadata = { name: UNRECORDED_CONFIG_MAP, namespace: deps.config.platformNamespace };
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data: writeUnrecorded(uses) };
  await platform.client.apply(configMapKind, map, { ...TEST, force: true });
  await Promise.all([followUnrecorded(deps), followUnrecorded(deps)]);
  await followUnrecorded(deps);
}

const readUses = () => readHours(api.deps.db, cluster.orgId, SHOWN);

const ofCluster = (goneAt?: Date): UnrecordedUse => ({
  kind: "cluster",
  subject: cluster.id,
  ...(goneAt && { goneAt: goneAt.toISOString() }),
});
const ofMachine = (goneAt?: Date): UnrecordedUse => ({
  ...ofCluster(goneAt),
  kind: "machine",
  subject: machine,
});
const ENDED = ["control_plane 9-5", "vcpu 9-5"];

test("what runs without its Cluster is metered from the end that the ledger had, until it is gone", async () => {
  await lose(pool, cluster);
  await round();
  expect(await readUses()).toEqual(ENDED);
  await publish(ofCluster(), ofMachine());
  expect(await readUses()).toEqual(["control_plane 9-5", "control_plane 5-", "vcpu 9-5", "vcpu 5-"]);
  await round();
  await publish(ofCluster(), ofMachine(ago(2)));
  expect(await readUses()).toEqual(["control_plane 9-5", "control_plane 5-", "vcpu 9-5", "vcpu 5-2"]);
});

test("what came to its end while the API server was away is metered until then", async () => {
  await lose(pool, cluster);
  await publish(ofCluster(ago(3)), ofMachine(ago(2)));
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-"]);
  await round();
  await publish(ofCluster(ago(3)), ofMachine(ago(2)));
  expect(await readUses()).toEqual(["control_plane 9-5", "control_plane 5-3", "vcpu 9-5", "vcpu 5-2"]);
});

test("a machine whose pool alone is gone is metered on, and its cluster as before", async () => {
  await lose(pool);
  await round();
  await publish(ofCluster(), ofMachine());
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-5", "vcpu 5-"]);
});

test("a machine that its pool does not list any more, and that runs, is metered on, and once where the pool lists it again", async () => {
  const { machines = [] } = pool.object.status ?? {};
  const goneMachines = machines.map(({ uid, name }) => ({
    ...SIZE,
    uid,
    name,
    hadNode: true,
    createdAt: ago(9).toISOString(),
    goneAt: ago(5).toISOString(),
  }));
  const empty = { ...pool, object: { ...pool.object, status: { machines: [], goneMachines } } };
  await project(empty);
  await publish(ofMachine());
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-"]);
  await round();
  await publish(ofMachine());
  await endUnpublished(deps);
  const uses = ["control_plane 9-", "vcpu 9-5", "vcpu 5-"];
  expect(await readUses()).toEqual(uses);
  await project(pool);
  await round();
  await publish(ofMachine());
  await publish(ofMachine(ago(2)));
  await publish();
  await endUnpublished(deps);
  expect(await readUses()).toEqual(uses);
});

test("what an object records is metered by that alone, whatever is published", async () => {
  await publish(ofCluster(ago(4)), ofMachine(ago(4)));
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-"]);
});

test("what runs on after its Cluster's finalizer was taken away by force is metered on while others keep that one, too", async () => {
  const goneCluster = ofCluster(ago(2));
  const deletionTimestamp = ago(5).toISOString();
  const { metadata, ...rest } = cluster.object;
  const kept = { ...metadata, deletionTimestamp, finalizers: ["example.com/keep"] };
  cluster = { ...cluster, object: { ...rest, metadata: kept } };
  await project(cluster);
  await publish(ofCluster(), ofMachine());
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-"]);
  clock = ago(5);
  await round();
  clock = undefined;
  await publish(ofCluster(), ofMachine());
  expect(await readUses()).toEqual(["control_plane 9-5", "control_plane 5-", "vcpu 9-"]);
  await endUnpublished(deps);
  // Somebody changes it, and what runs goes on.
  await useAt(4, {});
  await publish(ofCluster(), ofMachine());
  const uses = ["control_plane 9-5", "control_plane 5-4", "control_plane 4-"];
  expect(await readUses()).toEqual([...uses, "vcpu 9-"]);
  await publish(goneCluster, ofMachine());
  await project(cluster, true);
  await round();
  await publish(goneCluster, ofMachine());
  expect(await readUses()).toEqual([...uses.slice(0, 2), "control_plane 4-2", "vcpu 9-"]);
});

test("what the ledger never had, and an end before its own, change nothing", async () => {
  await lose(pool, cluster);
  await round();
  await publish({ kind: "machine", subject: createId() }, ofMachine(ago(6)));
  expect(await readUses()).toEqual(ENDED);
});

test("what the operator has forgotten ends, what it publishes goes on, and so does what an object records", async () => {
  await endUnpublished(deps);
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-"]);
  await lose(pool, cluster);
  await endUnpublished(deps);
  await round();
  await publish(ofCluster(), ofMachine());
  await publish(ofCluster());
  await endUnpublished(deps);
  await endUnpublished(deps);
  expect(await readUses()).toEqual(["control_plane 9-5", "control_plane 5-", "vcpu 9-5", "vcpu 5-5"]);
});

test("what ended while its Cluster existed stays ended, and nothing of its other uses is left out", async () => {
  await useAt(8, { blockStorageGB: 500 });
  await useAt(7, {});
  await lose(pool, cluster);
  await round();
  await publish(ofCluster());
  expect(await readUses()).toEqual([
    "control_plane 9-5",
    "control_plane 5-",
    "storage_block 8-7",
    "vcpu 9-5",
  ]);
});

test("all that was in use at the end goes on, also what began after everything was last seen", async () => {
  await useAt(8, { blockStorageGB: 500 });
  await useAt(4, { blockStorageGB: 500, loadBalancers: 1 });
  await lose(pool, cluster);
  await round();
  await publish(ofCluster());
  expect(await readUses()).toEqual([
    "control_plane 9-5",
    "control_plane 5-",
    "loadbalancer 4-4",
    "loadbalancer 4-",
    "storage_block 8-5",
    "storage_block 5-",
    "vcpu 9-5",
  ]);
});

test("what ended after everything was last seen, and before the Cluster was lost, stays ended", async () => {
  await useAt(8, { blockStorageGB: 500, loadBalancers: 1 });
  await useAt(4, { blockStorageGB: 500 });
  await lose(pool, cluster);
  await round();
  await publish(ofCluster(ago(3)));
  expect(await readUses()).toEqual([
    "control_plane 9-5",
    "control_plane 5-3",
    "loadbalancer 8-4",
    "storage_block 8-5",
    "storage_block 5-3",
    "vcpu 9-5",
  ]);
});

test("what a Cluster did not use any more when it came back does not go on when that one is lost", async () => {
  await useAt(8, { blockStorageGB: 500 });
  await lose(pool, cluster);
  await round();
  await useAt(4, {}, createId());
  await loseAt(2, cluster);
  await round();
  await publish(ofCluster());
  expect(await readUses()).toEqual([
    "control_plane 9-5",
    "control_plane 4-2",
    "control_plane 2-",
    "storage_block 8-5",
    "vcpu 9-5",
  ]);
});

test("a machine that another NodePool lists than the one that it was metered under goes on", async () => {
  await lose(pool);
  await round();
  await publish(ofMachine());
  const { status } = pool.object;
  const made = projectedPool(cluster, n + 1);
  await project({ ...made, object: { ...made.object, ...(status && { status }) } });
  await round();
  await publish();
  await endUnpublished(deps);
  expect(await readUses()).toEqual(["control_plane 9-", "vcpu 9-5", "vcpu 5-"]);
});
