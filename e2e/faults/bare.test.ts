import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { eventKind, namespaceKind, secretKind } from "../../shared/kube/core-kinds.ts";
import { waitFor } from "../stack/testing.ts";
import { engineClusterKind, machineDeploymentKind, machineKind } from "../testing/custom-resources.ts";
import { type Call, type Fault, openApiProxy, refusalOf } from "./api-proxy.ts";
import { type BareStack, startBareStack } from "./bare-stack.ts";
import { expectSame, identify, listLeftovers } from "./lifecycle.ts";
import { type Keeper, liveMortally } from "./mortal-life.ts";
import { startOperator } from "./operator-process.ts";
import { settleCluster, stepOf } from "./settled-cluster.ts";

const SOON = { timeoutMs: 90_000, intervalMs: 50 };
const CLOCK = join(import.meta.dirname, "shifted-clock.ts");
const ANNOTATION_AUTHORITY = "cloud.marina.dev/credential-authority";
const FIVE_MINUTES_MS = 5 * 60_000;
const TWO_THIRDS_OF_7_DAYS_MS = (7 * 24 * 3600_000 * 2) / 3;

let world: BareStack;
let keeper: Keeper;

beforeAll(async () => {
  world = await startBareStack(".marina/bare");
  keeper = { operator: await world.startOperator() };
}, 300_000);

afterEach(() => {
  world.proxy.hooks = {};
});

afterAll(() => world?.stop());

// A sample; `npm run test:faults:operator` dies after every single write.
test.each([
  { atWrite: 2, response: "lost" },
  { atWrite: 5, response: "heard" },
  { atWrite: 9, response: "lost" },
  { atWrite: 14, response: "heard" },
] as const)(
  "an operator killed at write $atWrite of each step, its response $response, loses and doubles nothing",
  async (death) => {
    const life = await liveMortally(world, keeper, death);
    expect(life.died).toContain("create");
  },
);

test("a leader that was paused past its lease and wakes up in the middle of its work writes nothing", async () => {
  const { proxy } = world;
  const paused = keeper.operator;
  const organization = await world.openOrganization();
  const { engineer } = organization;
  let inTheMiddle = false;
  proxy.hooks = {
    answered({ path }) {
      if (inTheMiddle || !path.includes(`${engineer.namespace}/clusters/mortal?`)) return undefined;
      inTheMiddle = true;
      void paused.signal("SIGSTOP");
      return undefined;
    },
  };
  const create = stepOf("create");
  await create.change(engineer);
  await waitFor("the leader to be in the middle of its work", () => inTheMiddle, SOON);
  const other = await openApiProxy(world.stack.info, "other");
  const settings = { KUBECONFIG: other.kubeconfig, MARINA_METRICS_PORT: "0" };
  keeper.operator = startOperator(world.stack.info, "successor", settings);
  await waitFor("another to finish it", () => create.isDone(engineer), SOON);
  const before = await identify(engineer);
  expect(other.writes.length).toBeGreaterThan(5);
  proxy.writes.length = 0;
  proxy.leaseWrites.length = 0;
  await paused.signal("SIGCONT");
  expect(await paused.ended()).toBe(1);
  // A request that was on its way to the socket when the process stopped leaves with its waking, and is refused for its
  // version; that the lease is no longer its own the process may find out by a refusal too.
  const done = [...proxy.writes, ...proxy.leaseWrites].filter(({ status }) => status < 300);
  expect(done).toEqual([]);
  expectSame("create", before, await identify(engineer));
  await keeper.operator.signal("SIGKILL");
  await other.close();
  await organization.close();
  keeper.operator = await world.startOperator();
});

test.each<{ what: string; fault: Fault; atMost: number }>([
  // Each of the keys asks once a second at most.
  {
    what: "429 and Retry-After",
    fault: { ...refusalOf(429, "TooManyRequests"), headers: { "retry-after": "1" } },
    atMost: 60,
  },
  { what: "500", fault: refusalOf(500, "InternalError"), atMost: 200 },
  { what: "nothing but broken connections", fault: "break", atMost: 200 },
])(
  "an API server that answers writes with $what is not hammered, and nothing is lost",
  async ({ fault, atMost }) => {
    const cluster = await settleCluster(world);
    const { engineer } = cluster;
    const refused: Call[] = [];
    const from = performance.now();
    world.proxy.hooks = {
      before(call) {
        if (call.method === "GET" || call.path.includes("/leases")) return undefined;
        refused.push(call);
        return fault;
      },
    };
    const scale = stepOf("scale");
    await scale.change(engineer);
    await waitFor("some refusals", () => refused.length >= 4 && performance.now() - from > 3000, SOON);
    expect(refused.length).toBeLessThan(atMost);
    world.proxy.hooks = {};
    await waitFor("the change to go through", () => scale.isDone(engineer), SOON);
    expectSame("scale", cluster.identities, await identify(engineer));
    await cluster.close();
  },
);

test("watches that are cut or expire, and a list of the past, undo nothing and hide nothing", async () => {
  const cluster = await settleCluster(world);
  const { engineer } = cluster;
  const pools = await engineer.client.list(nodePoolKind);
  await cluster.live("scale");
  const before = await identify(engineer);
  let expired = 0;
  let relisted = 0;
  world.proxy.hooks = {
    before({ method, path }) {
      if (method !== "GET" || !path.includes("cloud.marina.dev/v1/nodepools")) return undefined;
      if (path.includes("watch=true")) {
        expired += 1;
        return expired > 1 ? undefined : refusalOf(410, "Expired");
      }
      relisted += 1;
      // Twice the world as it was before the pool was scaled.
      if (relisted > 2) return undefined;
      const { items, resourceVersion } = pools;
      return { status: 200, body: { apiVersion: "v1", kind: "List", metadata: { resourceVersion }, items } };
    },
  };
  world.proxy.cut();
  await waitFor("new lists", () => relisted > 2, SOON);
  await cluster.live("upgrade");
  expectSame("upgrade", before, await identify(engineer));
  await cluster.close();
});

test("a clock that is 5 minutes ahead, and then right again, changes nothing that stands", async () => {
  const cluster = await settleCluster(world);
  const { engineer } = cluster;
  await keeper.operator.signal("SIGKILL");
  keeper.operator = await world.startOperator(ahead(FIVE_MINUTES_MS));
  await cluster.live("scale");
  const scaled = await identify(engineer);
  expectSame("scale", cluster.identities, scaled);
  await keeper.operator.signal("SIGKILL");
  keeper.operator = await world.startOperator();
  await cluster.live("upgrade");
  expectSame("upgrade", scaled, await identify(engineer));
  await cluster.close();
});

test("the admin kubeconfig is renewed at two thirds of its life, and not an hour earlier", async () => {
  const cluster = await settleCluster(world);
  const { client, namespace } = cluster.engineer;
  const read = async () => (await client.get(secretKind, namespace, "mortal-admin-kubeconfig"))?.data?.value;
  const first = await read();
  for (const [offsetMs, renewed] of [
    [-3600_000, false],
    [3600_000, true],
  ] as const) {
    await keeper.operator.signal("SIGKILL");
    keeper.operator = await world.startOperator(ahead(TWO_THIRDS_OF_7_DAYS_MS + offsetMs));
    const bindings = () => world.proxy.reads.some(({ path }) => path.includes("/clusterrolebindings"));
    world.proxy.reads.length = 0;
    await waitFor("the credentials to be looked at", bindings, SOON);
    expect((await read()) !== first).toBe(renewed);
  }
  await keeper.operator.signal("SIGKILL");
  keeper.operator = await world.startOperator();
  await cluster.close();
});

test("the admin kubeconfig stays when the Secret of its CA is touched, and when it loses the mark of it", async () => {
  const cluster = await settleCluster(world);
  const { client, namespace } = cluster.engineer;
  const name = "mortal-admin-kubeconfig";
  const somebody = { fieldManager: "somebody" };
  const read = () => client.get(secretKind, namespace, name);
  const readMark = async () => (await read())?.metadata.annotations?.[ANNOTATION_AUTHORITY];
  const annotate = (secret: string, annotations: object) =>
    client.mergePatch(secretKind, namespace, secret, { metadata: { annotations } }, somebody);
  const before = (await read())?.data;
  const first = await readMark();
  await annotate("mortal-ca", { touched: "yes" });
  await waitFor("the mark of the new version", async () => (await readMark()) !== first, SOON);
  await annotate(name, { [ANNOTATION_AUTHORITY]: null });
  await waitFor("the mark to be back", readMark, SOON);
  expect((await read())?.data).toEqual(before);
  await cluster.close();
});

test("a status that was wiped by hand is rebuilt: same subnet, same id, no rollout", async () => {
  const cluster = await settleCluster(world);
  const { engineer, identities } = cluster;
  const { client, namespace } = engineer;
  const generations = async () =>
    (await client.listAll(machineDeploymentKind, { namespace })).map(({ metadata }) => metadata.generation);
  const before = await generations();
  const wipe = { fieldManager: "somebody", subresource: "status" } as const;
  await client.mergePatch(nodePoolKind, namespace, "front", { status: null }, wipe);
  await client.mergePatch(clusterKind, namespace, "mortal", { status: null }, wipe);
  await waitFor("the status to be back", () => stepOf("create").isDone(engineer), SOON);
  expect(await identify(engineer)).toEqual(identities);
  expect(await generations()).toEqual(before);
  await cluster.close();
});

test("a finalizer that was removed by hand is put back; without it at the deletion nothing is left behind for ever", async () => {
  const cluster = await settleCluster(world);
  const { engineer, identities } = cluster;
  const { client, namespace } = engineer;
  const strip = { metadata: { finalizers: null } };
  await engineer.patchCluster("mortal", strip);
  await waitFor("the finalizer", async () => (await engineer.getCluster("mortal")).metadata.finalizers, SOON);
  expect(await identify(engineer)).toEqual(identities);
  await keeper.operator.signal("SIGKILL");
  await client.delete(clusterKind, namespace, "mortal");
  await engineer.patchCluster("mortal", strip);
  keeper.operator = await world.startOperator();
  const machines = async () => (await client.listAll(machineDeploymentKind, { namespace })).length;
  await waitFor("the engine's objects to go with their owner", async () => (await machines()) === 0, SOON);
  const pool = await waitFor(
    "the pools to say what they wait for",
    async () => {
      const front = await engineer.getPool("front");
      return front.status?.message?.includes("create it") ? front : undefined;
    },
    SOON,
  );
  expect(pool.status?.message).toContain("no cluster mortal");
  await cluster.close();
});

test("a namespace that is deleted under a running cluster goes, and takes everything with it", async () => {
  const cluster = await settleCluster(world);
  const { engineer, identities } = cluster;
  await engineer.client.delete(namespaceKind, undefined, engineer.namespace);
  const isGone = async () =>
    (await engineer.client.get(namespaceKind, undefined, engineer.namespace)) === undefined;
  await waitFor("the namespace to be gone", isGone, SOON);
  expect(await listLeftovers(engineer, identities.ids[0])).toEqual([]);
  await cluster.close();
});

test("what the engine leaves behind without its cluster holds up no deletion; of what its finalizers hold an Event tells", async () => {
  const cluster = await settleCluster(world);
  const { client, namespace } = cluster.engineer;
  const by = { fieldManager: "engineer" };
  const finalizers = (list: string[] | null) => ({ metadata: { finalizers: list } });
  const deployments = () => client.listAll(machineDeploymentKind, { namespace });
  await keeper.operator.signal("SIGKILL");
  await client.delete(clusterKind, namespace, "mortal");
  await client.mergePatch(engineClusterKind, namespace, "mortal", finalizers(null), by);
  await client.delete(engineClusterKind, namespace, "mortal");
  for (const { metadata } of await client.listAll(machineKind, { namespace }))
    await client.delete(machineKind, namespace, metadata.name);
  const [held] = await deployments();
  if (held === undefined) throw new Error("the engine left nothing behind");
  await client.mergePatch(machineDeploymentKind, namespace, held.metadata.name, finalizers(["a.test/b"]), by);
  expect((await deployments()).length).toBeGreaterThan(1);

  keeper.operator = await world.startOperator();
  const isGone = async () => (await client.listAll(clusterKind, { namespace })).length === 0;
  await waitFor("the cluster to be gone", isGone, SOON);
  expect(await client.listAll(nodePoolKind, { namespace })).toEqual([]);
  expect((await deployments()).map(({ metadata }) => metadata.name)).toEqual([held.metadata.name]);
  const told = async () =>
    (await client.listAll(eventKind, { namespace })).find(({ reason }) => reason === "LeftBehind");
  expect((await waitFor("the Event", told, SOON)).note).toContain(`${namespace}/${held.metadata.name}`);
  await client.mergePatch(machineDeploymentKind, namespace, held.metadata.name, finalizers(null), by);
  await cluster.close();
});

/** Settings of an operator whose clock is wrong. */
function ahead(ms: number): Record<string, string> {
  return { NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_AHEAD_MS: String(ms) };
}
