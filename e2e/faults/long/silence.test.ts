import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../platform/stack/testing.ts";
import { type Call, openApiProxy } from "../api-proxy.ts";
import { type BareStack, startBareStack } from "../bare-stack.ts";
import { createConvergedCluster, getStep } from "../converged-cluster.ts";
import { expectSame, identify } from "../lifecycle.ts";
import { type OperatorProcess, startOperator } from "../operator-process.ts";
import { openToxiproxy } from "../toxiproxy.ts";

/** After the idle deadline of 150 s, and before the API server closes the first watch itself after 300 s. */
const LATE = { timeoutMs: 250_000, intervalMs: 100 };

let bare: BareStack;
let operator: OperatorProcess;

beforeAll(async () => {
  bare = await startBareStack(".marina/bare");
  operator = await bare.startOperator();
});

afterEach(() => {
  bare.proxy.hooks = {};
});

afterAll(() => bare?.stop());

test("an API server that is down for 60 s: nothing is lost, no status is wrong, and everything resumes", async () => {
  const cluster = await createConvergedCluster(bare);
  const { engineer } = cluster;
  const apiserver = bare.stack.part("kube-apiserver");
  const ended = operator.ended();
  await apiserver.kill();
  await sleep(60_000);
  await apiserver.start();
  // Without its Lease it has exited, and is restarted as a Pod would be.
  expect(await ended).toBe(1);
  operator = await bare.startOperator();
  await cluster.run("scale");
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
});

test("a write without a response is abandoned at its deadline and retried", async () => {
  const cluster = await createConvergedCluster(bare);
  const { engineer } = cluster;
  let silent = 0;
  bare.proxy.hooks = {
    before({ method, path }) {
      if (method === "GET" || path.includes("/leases") || silent > 0) return undefined;
      silent += 1;
      return "hang";
    },
  };
  await cluster.run("scale");
  expect(silent).toBe(1);
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
});

test("silent watches are detected by their idle deadline, and missed changes are picked up", async () => {
  // Its watches begin now.
  await operator.signal("SIGKILL");
  operator = await bare.startOperator();
  const cluster = await createConvergedCluster(bare);
  const { engineer } = cluster;
  let dropped = 0;
  const oldWatches = new Set<object>();
  const isOld = (call: object) => oldWatches.has(call);
  for (const call of bare.proxy.reads) oldWatches.add(call);
  bare.proxy.hooks = {
    dropLine(call) {
      if (isOld(call)) dropped += 1;
      return isOld(call);
    },
  };
  const scale = getStep("scale");
  await scale.change(engineer);
  await waitFor("the change to be observed", () => scale.isDone(engineer), LATE);
  expect(dropped).toBeGreaterThan(0);
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
});

test("a leader whose connections are half-open exits and writes nothing more, and another takes over", async () => {
  await operator.signal("SIGKILL");
  const toxiproxy = await openToxiproxy(bare.proxy.kubeconfig);
  const frozen = await bare.startOperator({ KUBECONFIG: toxiproxy.kubeconfig });
  const cluster = await createConvergedCluster(bare);
  const { engineer } = cluster;
  const other = await openApiProxy(bare.stack.info, "standby");
  const settings = { KUBECONFIG: other.kubeconfig, MARINA_METRICS_PORT: "0" };
  const standby = startOperator(bare.stack.info, "standby", settings);
  const ended = frozen.ended();
  await toxiproxy.freeze();
  // What had passed it before arrives at the proxy, in this process, meanwhile.
  await identify(engineer);
  const late: Call[] = [];
  bare.proxy.hooks = {
    before(call) {
      if (call.userAgent === "marina-operator" && call.method !== "GET") late.push(call);
      return undefined;
    },
  };
  await cluster.run("scale");
  expect(await ended).toBe(1);
  await toxiproxy.close();
  expect(late).toEqual([]);
  expectSame("scale", cluster.identities, await identify(engineer));
  await cluster.close();
  await standby.signal("SIGKILL");
  await other.close();
  operator = await bare.startOperator();
});
