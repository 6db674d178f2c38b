import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../stack/testing.ts";
import { type Call, openApiProxy } from "../api-proxy.ts";
import { type BareStack, startBareStack } from "../bare-stack.ts";
import { expectSame, identify } from "../lifecycle.ts";
import { type OperatorProcess, startOperator } from "../operator-process.ts";
import { settleCluster, stepOf } from "../settled-cluster.ts";
import { openToxiproxy } from "../toxiproxy.ts";

/** After the idle deadline of 150 s, and before the API server ends the first watch by itself, at 300 s of age. */
const LATE = { timeoutMs: 200_000, intervalMs: 100 };

let world: BareStack;
let operator: OperatorProcess;

beforeAll(async () => {
  world = await startBareStack(".marina/bare");
  operator = await world.startOperator();
});

afterEach(() => {
  world.proxy.hooks = {};
});

afterAll(() => world?.stop());

test("an API server that is gone for 60 s: nothing is lost, nothing is told wrongly, and all goes on", async () => {
  const cluster = await settleCluster(world);
  const { engineer } = cluster;
  const apiserver = world.stack.part("kube-apiserver");
  await apiserver.kill();
  await sleep(60_000);
  await apiserver.start();
  // Without a Lease it has ended by itself, and is started again as a Pod would be.
  expect(await operator.ended()).toBe(1);
  operator = await world.startOperator();
  await cluster.live("scale");
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
});

test("a write that is never answered is given up at its deadline and made again", async () => {
  const cluster = await settleCluster(world);
  const { engineer } = cluster;
  let silent = 0;
  world.proxy.hooks = {
    before({ method, path }) {
      if (method === "GET" || path.includes("/leases") || silent > 0) return undefined;
      silent += 1;
      return "hang";
    },
  };
  await cluster.live("scale");
  expect(silent).toBe(1);
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
});

test("watches that have gone silent are noticed by their idle deadline, and what was missed is made up for", async () => {
  const cluster = await settleCluster(world);
  const { engineer } = cluster;
  let swallowed = 0;
  const deaf = new Set<object>();
  const isOld = (call: object) => deaf.has(call);
  for (const call of world.proxy.reads) deaf.add(call);
  world.proxy.hooks = {
    swallow(call) {
      if (isOld(call)) swallowed += 1;
      return isOld(call);
    },
  };
  const scale = stepOf("scale");
  await scale.change(engineer);
  await waitFor("the change to be seen after all", () => scale.isDone(engineer), LATE);
  expect(swallowed).toBeGreaterThan(0);
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
});

test("a leader whose connections are half-open ends by itself, and leaves the work to another without a further write", async () => {
  await operator.signal("SIGKILL");
  const toxiproxy = await openToxiproxy(world.proxy.kubeconfig);
  const frozen = await world.startOperator({ KUBECONFIG: toxiproxy.kubeconfig });
  const cluster = await settleCluster(world);
  const { engineer } = cluster;
  const other = await openApiProxy(world.stack.info, "standby");
  const settings = { KUBECONFIG: other.kubeconfig, MARINA_METRICS_PORT: "0" };
  const standby = startOperator(world.stack.info, "standby", settings);
  await toxiproxy.freeze();
  const isFrozen = ({ userAgent }: Call) => userAgent === "marina-operator";
  const before = world.proxy.writes.filter(isFrozen).length;
  await cluster.live("scale");
  expect(await frozen.ended()).toBe(1);
  await toxiproxy.close();
  expect(world.proxy.writes.filter(isFrozen).slice(before)).toEqual([]);
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
  await standby.signal("SIGKILL");
  await other.close();
  operator = await world.startOperator();
});
