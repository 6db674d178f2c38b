import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, onTestFinished } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { type Call, type Fault, openApiProxy, refusalOf } from "./api-proxy.ts";
import { type BareStack, test } from "./bare-stack.ts";
import { type Any, withDefinition } from "./changed-definition.ts";
import { createConvergedCluster, getStep } from "./converged-cluster.ts";
import { type OperatorHolder, runLifecycleWithKills } from "./killable-lifecycle.ts";
import { expectSame, identify, listRights } from "./lifecycle.ts";
import { shiftClock, startOperator, startProgram } from "./operator-process.ts";

const SOON = { intervalMs: 200 };
const FIVE_MINUTES_MS = 5 * 60_000;
const TWO_THIRDS_OF_7_DAYS_MS = (7 * 24 * 3600_000 * 2) / 3;

let bare: BareStack;
let holder: OperatorHolder;

test.beforeAll(async ({ bareStack }) => {
  bare = bareStack;
  holder = { operator: await bare.startOperator() };
});

afterEach(() => {
  bare.proxy.hooks = {};
});

afterAll(() => holder?.operator.signal("SIGKILL"));

// A sample; `npm run test:faults:operator` kills it after every single write.
test("an operator killed at write 5 of each step, its response lost, loses and duplicates nothing", async () => {
  const outcome = await runLifecycleWithKills(bare, holder, { atWrite: 5, response: "lost" });
  expect(outcome.killedIn).toContain("create");
});

test("a leader that was paused past its Lease and resumes in the middle of a reconcile writes nothing", async () => {
  const { proxy } = bare;
  const paused = holder.operator;
  const organization = await bare.openOrganization();
  const { engineer } = organization;
  let isInReconcile = false;
  proxy.hooks = {
    afterWrite({ path }) {
      if (isInReconcile || !path.includes(`${engineer.namespace}/clusters/sample?`)) return undefined;
      isInReconcile = true;
      void paused.signal("SIGSTOP");
      return undefined;
    },
  };
  const create = getStep("create");
  await create.change(engineer);
  await waitFor("the leader to be in the middle of a reconcile", () => isInReconcile, SOON);
  const other = await openApiProxy(bare.stack.info, "other");
  const settings = { KUBECONFIG: other.kubeconfig, MARINA_METRICS_PORT: "0" };
  const successor = startOperator(bare.stack.info, "successor", settings);
  onTestFinished(async () => {
    for (const operator of [paused, successor]) await operator.signal("SIGKILL");
    await other.close();
    holder.operator = await bare.startOperator();
  });
  await waitFor("another operator to finish it", () => create.isDone(engineer), SOON);
  const before = await identify(engineer);
  const rights = await listRights(engineer);
  expect(other.writes.length).toBeGreaterThan(5);
  proxy.writes.length = 0;
  proxy.leaseWrites.length = 0;
  const ended = paused.ended();
  await paused.signal("SIGCONT");
  expect(await ended).toBe(1);
  // A request that was about to be sent when the process was paused is sent when it resumes, and is refused for its
  // resourceVersion; a refusal may also be how the process learns that it lost the Lease. An apply of rights names
  // none: it changes nothing of what the successor has applied. The preflight of a process that has just begun stores
  // nothing.
  const storesNothing = /^\/apis\/(rbac\.)?authorization\.k8s\.io\/|dryRun=All/;
  const done = [...proxy.writes, ...proxy.leaseWrites].filter(
    ({ status, path }) => status < 300 && !storesNothing.test(path),
  );
  expect(done).toEqual([]);
  expect(await listRights(engineer)).toEqual(rights);
  expectSame("create", before, await identify(engineer));
  await organization.close();
});

test.each<{ what: string; fault: Fault; perSecond: number }>([
  // Each of the keys is retried once a second at most.
  {
    what: "429 and Retry-After",
    fault: { ...refusalOf(429, "TooManyRequests"), headers: { "retry-after": "1" } },
    perSecond: 20,
  },
  { what: "500", fault: refusalOf(500, "InternalError"), perSecond: 65 },
  { what: "nothing but broken connections", fault: "break", perSecond: 65 },
])(
  "an API server that responds to writes with $what is not overloaded, and nothing is lost",
  async ({ fault, perSecond }) => {
    const cluster = await createConvergedCluster(bare);
    const { engineer } = cluster;
    const refused: Call[] = [];
    const from = performance.now();
    bare.proxy.hooks = {
      before(call) {
        if (call.method === "GET" || call.path.includes("/leases")) return undefined;
        refused.push(call);
        return fault;
      },
    };
    const scale = getStep("scale");
    await scale.change(engineer);
    await waitFor("some refusals", () => refused.length >= 4 && performance.now() - from > 3000, SOON);
    expect(refused.length / ((performance.now() - from) / 1000)).toBeLessThan(perSecond);
    bare.proxy.hooks = {};
    await waitFor("the change to go through", () => scale.isDone(engineer), SOON);
    expectSame("scale", cluster.identities, await identify(engineer));
    await cluster.close();
  },
);

test("watches that break or expire, and a stale list, revert nothing and hide nothing", async () => {
  const cluster = await createConvergedCluster(bare);
  const { engineer } = cluster;
  const pools = await engineer.client.list(nodePoolKind);
  await cluster.run("scale");
  const before = await identify(engineer);
  let expired = 0;
  let relisted = 0;
  bare.proxy.hooks = {
    before({ method, path }) {
      if (method !== "GET" || !path.includes("cloud.marina.dev/v1/nodepools")) return undefined;
      if (path.includes("watch=true")) {
        expired += 1;
        return expired > 1 ? undefined : refusalOf(410, "Expired");
      }
      relisted += 1;
      // Twice the state before the pool was scaled.
      if (relisted > 2) return undefined;
      const { items, resourceVersion } = pools;
      return { status: 200, body: { apiVersion: "v1", kind: "List", metadata: { resourceVersion }, items } };
    },
  };
  bare.proxy.cut();
  await waitFor("new lists", () => relisted > 2, SOON);
  await cluster.run("upgrade");
  expectSame("upgrade", before, await identify(engineer));
  await cluster.close();
});

test("a clock that is 5 minutes ahead, and then right again, changes no existing object", async () => {
  const cluster = await createConvergedCluster(bare);
  const { engineer } = cluster;
  await holder.operator.signal("SIGKILL");
  holder.operator = await bare.startOperator(shiftClock(FIVE_MINUTES_MS));
  await cluster.run("scale");
  const scaled = await identify(engineer);
  expectSame("scale", cluster.identities, scaled);
  await holder.operator.signal("SIGKILL");
  holder.operator = await bare.startOperator();
  await cluster.run("upgrade");
  expectSame("upgrade", scaled, await identify(engineer));
  await cluster.close();
});

test("the admin kubeconfig is renewed at two thirds of its lifetime, and not an hour earlier", async () => {
  const cluster = await createConvergedCluster(bare);
  const { client, namespace } = cluster.engineer;
  const read = async () => (await client.get(secretKind, namespace, nameAdminSecret("sample")))?.data?.value;
  const first = await read();
  for (const [offsetMs, renewed] of [
    [-3600_000, false],
    [3600_000, true],
  ] as const) {
    await holder.operator.signal("SIGKILL");
    holder.operator = await bare.startOperator(shiftClock(TWO_THIRDS_OF_7_DAYS_MS + offsetMs));
    const bindings = () => bare.proxy.reads.some(({ path }) => path.includes("/clusterrolebindings"));
    bare.proxy.reads.length = 0;
    await waitFor("a reconcile of the credentials", bindings, SOON);
    // It may have been that of another test's cluster.
    if (renewed) await waitFor("the renewal", async () => (await read()) !== first, SOON);
    expect((await read()) !== first).toBe(renewed);
  }
  await holder.operator.signal("SIGKILL");
  holder.operator = await bare.startOperator();
  await cluster.close();
});

/** How a program that is started now ends: its exit code and the last line of its log. */
async function runToItsEnd(program: "apiserver" | "operator", name: string) {
  const started = startProgram(bare.stack.info, program, name, {
    KUBECONFIG: bare.proxy.kubeconfig,
    MARINA_METRICS_PORT: "0",
    MARINA_PORT: "0",
  });
  const status = await started.ended();
  const output = readFileSync(join(bare.stack.info.logs, `${name}.log`), "utf8");
  return { status, lastLine: output.trimEnd().split("\n").at(-1) };
}

const OWN_REMEDY =
  "install those of this version (`helm upgrade` with crds.enabled, or `kubectl apply --server-side -f crds/`).";

test("programs before Kubernetes of a version that is too old end and say what to do", async () => {
  bare.proxy.hooks = {
    before: ({ path }) =>
      path === "/version" ? { status: 200, body: { major: "1", minor: "32" } } : undefined,
  };
  const expected =
    "The management cluster runs Kubernetes 1.32, and this program needs 1.33 or newer: upgrade the management cluster first.";
  expect(await runToItsEnd("operator", "old-kubernetes-operator")).toEqual({ status: 1, lastLine: expected });
  expect(await runToItsEnd("apiserver", "old-kubernetes-apiserver")).toEqual({
    status: 1,
    lastLine: expected,
  });
});

test("programs with older CustomResourceDefinitions end and say what to do", async () => {
  const removeField = ([version]: Any[]) => {
    delete version.schema.openAPIV3Schema.properties.spec.properties.drainTimeoutSeconds;
    version.schema.openAPIV3Schema.properties.spec["x-kubernetes-validations"] = [];
  };
  await withDefinition(bare.stack.info, "nodepools.cloud.marina.dev", removeField, async () => {
    const expected = `CustomResourceDefinitions are older than this program, nodepools.cloud.marina.dev (without spec.drainTimeoutSeconds): ${OWN_REMEDY}`;
    expect(await runToItsEnd("operator", "old-definition-operator")).toEqual({
      status: 1,
      lastLine: expected,
    });
    expect(await runToItsEnd("apiserver", "old-definition-apiserver")).toEqual({
      status: 1,
      lastLine: expected,
    });
  });
});

test("an operator with newer CustomResourceDefinitions works, and says what to do", async () => {
  const addField = ([version]: Any[]) => {
    version.schema.openAPIV3Schema.properties.spec.properties.colour = { type: "string" };
  };
  await withDefinition(bare.stack.info, "nodepools.cloud.marina.dev", addField, async () => {
    const settings = { KUBECONFIG: bare.proxy.kubeconfig, MARINA_METRICS_PORT: "0" };
    const started = startProgram(bare.stack.info, "operator", "new-definition", settings);
    onTestFinished(() => started.signal("SIGKILL"));
    const output = await waitFor("it to be ready", () => {
      const text = readFileSync(join(bare.stack.info.logs, "new-definition.log"), "utf8");
      return text.includes('"msg":"ready"') && text;
    });
    expect(output).toContain(
      "CustomResourceDefinitions are newer than this program, nodepools.cloud.marina.dev (with spec.colour): upgrade this program to the version that they came with.",
    );
    await started.signal("SIGTERM");
  });
});

test("an operator with a Cluster API that is too old ends and says what to do", async () => {
  const serveOldAlone = (versions: Any[]) => {
    for (const version of versions) version.served = version.name !== "v1beta2";
  };
  const remedy = "install Cluster API 1.14 with the feature gate ClusterTopology, or upgrade to it.";
  await withDefinition(bare.stack.info, "machines.cluster.x-k8s.io", serveOldAlone, async () =>
    expect(await runToItsEnd("operator", "old-cluster-api")).toEqual({
      status: 1,
      lastLine: `The management cluster has no CustomResourceDefinition machines.cluster.x-k8s.io (version v1beta2): ${remedy}`,
    }),
  );
  const removeField = (versions: Any[]) => {
    for (const version of versions)
      delete version.schema.openAPIV3Schema.properties.status.properties.versions;
  };
  await withDefinition(bare.stack.info, "machinedeployments.cluster.x-k8s.io", removeField, async () =>
    expect(await runToItsEnd("operator", "older-cluster-api")).toEqual({
      status: 1,
      lastLine: `CustomResourceDefinitions are older than this program, machinedeployments.cluster.x-k8s.io (without status.versions): ${remedy}`,
    }),
  );
});

// The last test: the definition is not restored.
test("programs without a CustomResourceDefinition that they need end and say what to do", async () => {
  const { stack } = bare;
  await kubectl(["delete", "crd", "clusteraccesses.cloud.marina.dev", "--wait=true"], { stack: stack.info });
  await waitFor("the kind to be served no longer", async () => {
    const { stdout } = await kubectl(["get", "--raw", "/apis/cloud.marina.dev/v1"], { stack: stack.info });
    return !stdout.includes('"clusteraccesses"');
  });
  const expected = `The management cluster has no CustomResourceDefinition clusteraccesses.cloud.marina.dev (version v1): ${OWN_REMEDY}`;
  expect(await runToItsEnd("operator", "no-definition-operator")).toEqual({ status: 1, lastLine: expected });
  expect(await runToItsEnd("apiserver", "no-definition-apiserver")).toEqual({
    status: 1,
    lastLine: expected,
  });
});
