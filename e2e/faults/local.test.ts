import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { readStartTime } from "../platform/programs/process-identity.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { createRealCluster, describeWorkload, type RealCluster } from "../stories/local/real-cluster.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const DIR = join(ROOT, ".marina", "faults-local");
let stack: Stack;
let cluster: RealCluster;

beforeAll(async () => {
  stack = await startStack({ dir: DIR, fresh: true, provider: "local", onCrash: "report" });
  cluster = await createRealCluster(stack.info, "faults");
  await cluster.run(["apply", "-f", "-"], describeWorkload("web", 2, "100m"));
  await cluster.run(["rollout", "status", "deployment/web", "--timeout=400s"]);
});

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.log(`${task.name}:\n${await cluster.describe()}`);
});

afterAll(() => stack?.stop());

/** Records of the tenants' programs that run, by file name. */
function readRecords(dir: string): Record<string, { pid: number; startNumber: number }> {
  const folder = join(dir, "processes");
  const files = readdirSync(folder).filter((file) => file.startsWith("tenant~"));
  return Object.fromEntries(
    files.map((file) => [file, JSON.parse(readFileSync(join(folder, file), "utf8"))]),
  );
}

/** Pids of the tenants' programs, by record. */
function readTenantPids(dir = DIR): Record<string, number> {
  return Object.fromEntries(Object.entries(readRecords(dir)).map(([file, { pid }]) => [file, pid]));
}

/** Undefined while it does not run. */
function findPid(program: string): number | undefined {
  const entry = Object.entries(readTenantPids()).find(([file]) => file.endsWith(`.${program}.json`));
  return entry?.[1];
}

/** False for a zombie too. */
const isAlive = (pid: number): boolean => readStartTime(pid) !== undefined;
const serves = () => cluster.run(["get", "deployment", "web"]);
const readStatus = async (): Promise<string> =>
  (await cluster.alice.request("GET", cluster.path)).body.status;

async function waitForAllAgain(): Promise<void> {
  await waitFor("the tenant to serve again", serves);
  await waitFor("the cluster to be running", async () => (await readStatus()) === "running");
  await waitFor("the programs to be younger than their API server", () => {
    const numbers = Object.entries(readRecords(DIR)).map(([file, record]) => ({ file, ...record }));
    const [first, ...others] = numbers.toSorted((one, other) => one.startNumber - other.startNumber);
    return others.length === 3 && first?.file.endsWith(".kube-apiserver.json");
  });
}

/** Kills a program of the tenant; returns its pid. */
async function killProgram(program: string): Promise<number> {
  const pid = await waitFor(`${program} to run`, () => findPid(program));
  process.kill(pid, "SIGKILL");
  return pid;
}

const listNodeNames = async (): Promise<string[]> =>
  (await cluster.read("get", "nodes")).items.map(
    (node: { metadata: { name: string } }) => node.metadata.name,
  );

/** Every program of the tenant has a part in this; where one is blind or passes a pod over it does not end. */
async function scaleThereAndBack(): Promise<void> {
  await cluster.scale("web", 3);
  await cluster.scale("web", 2);
}

/** The provider makes a node more, so it has looked at what was there before. */
async function addNode(): Promise<void> {
  const pools = `${cluster.path}/nodepools`;
  const [pool] = (await cluster.alice.request("GET", pools)).body.items;
  const nodes = (await listNodeNames()).length + 1;
  const body = { desired_nodes: nodes, max_nodes: nodes };
  expect((await cluster.alice.request("PUT", `${pools}/${pool.id}`, body)).status).toBe(200);
  await waitFor("another node", async () => (await listNodeNames()).length === nodes);
}

test("tenants keep serving without the provider, and are adopted by the next one", async () => {
  const before = readTenantPids();
  await stack.part("local-provider").kill("SIGKILL");
  await serves();
  await stack.part("local-provider").start();
  await serves();
  await addNode();
  expect(readTenantPids()).toEqual(before);
  expect(Object.values(before).every(isAlive)).toBe(true);
});

test.each(["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"])(
  "a tenant's %s that was killed is back by itself",
  async (program) => {
    const before = await killProgram(program);
    const next = await waitFor(`another ${program}`, () => {
      const pid = findPid(program);
      return pid !== undefined && pid !== before && isAlive(pid) ? pid : undefined;
    });
    expect(next).toBeGreaterThan(0);
    await waitForAllAgain();
    await scaleThereAndBack();
  },
);

test("a tenant whose API is away longer than the threshold is degraded, and recovers", async () => {
  await stack.part("local-provider").kill("SIGKILL");
  try {
    await killProgram("kube-apiserver");
    await waitFor("the cluster to be degraded", async () => (await readStatus()) === "degraded");
  } finally {
    await stack.part("local-provider").start();
  }
  await waitForAllAgain();
  expect(await readStatus()).toBe("running");
  await scaleThereAndBack();
});

test("after the shared etcd was killed, right after that, all come back with the nodes they had", async () => {
  const nodes = await listNodeNames();
  await stack.part("etcd").kill("SIGKILL");
  await sleep(5000);
  await stack.part("etcd").start();
  await waitForAllAgain();
  await scaleThereAndBack();
  // As long as a node that is not ready is given to become so.
  await sleep(30_000);
  await waitForAllAgain();
  expect(await listNodeNames()).toEqual(nodes);
});

test("an endpoint whose port another program took is named, and opened once the port is free", async () => {
  const { items } = JSON.parse(await cluster.manage("get", "localclusters.local.marina.dev", "-o", "json"));
  const { port } = items[0].spec.controlPlaneEndpoint;
  await stack.part("local-front").kill("SIGKILL");
  const other = createServer();
  onTestFinished(() => void other.close());
  await waitFor("the port", () => {
    return new Promise<boolean>((resolve) => {
      other.once("error", () => resolve(false));
      other.listen(port, "127.0.0.1", () => resolve(true));
    });
  });
  await stack.part("local-front").start();
  const condition = await waitFor("the condition to name the port", async () => {
    const list = JSON.parse(await cluster.manage("get", "localclusters.local.marina.dev", "-o", "json"));
    return list.items[0].status.conditions.find(({ reason }: { reason: string }) => reason === "PortTaken");
  });
  expect(condition.message).toContain(`port ${port} is in use by another program`);
  other.close();
  await waitForAllAgain();
});

test("a cluster for which the disk is full says so, and comes up once there is space", async () => {
  const { body: organization } = await cluster.alice.request("POST", "/organizations", { name: "full" });
  const namespace = `org-${organization.id}`;
  const inNamespace = ["-n", namespace];
  const ofStack = { stack: stack.info };
  const remove = ["delete", "clusters.cloud.marina.dev", "full", ...inNamespace];
  // Whatever is written to /dev/full finds no space left.
  const folder = join(DIR, "tenants", `${namespace}.full`);
  const draft = join(folder, "ca.crt.part");
  mkdirSync(folder, { recursive: true });
  symlinkSync("/dev/full", draft);
  onTestFinished(async () => {
    rmSync(draft, { force: true });
    await kubectl([...remove, "--ignore-not-found"], ofStack);
  });
  const manifest = {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: { name: "full", namespace },
    spec: { version: "1.35" },
  };
  await waitFor("the organization's namespace", () =>
    kubectl(["create", "-f", "-"], { ...ofStack, stdin: JSON.stringify(manifest) }),
  );
  const message = await waitFor("the condition to say why", async () => {
    const kind = "localcontrolplanes.local.marina.dev";
    const { stdout } = await kubectl(["get", kind, ...inNamespace, "-o", "json"], ofStack);
    const [controlPlane] = JSON.parse(stdout).items;
    const available = controlPlane.status.conditions.find(
      ({ type }: { type: string }) => type === "Available",
    );
    return available.status === "False" && available.message.includes("failed")
      ? available.message
      : undefined;
  });
  expect(message).toContain("no space left on device");
  rmSync(draft);
  const ready = ["wait", "--for=condition=Ready", "clusters.cloud.marina.dev/full", "--timeout=400s"];
  await kubectl([...ready, ...inNamespace], ofStack);
  await kubectl([...remove, "--timeout=400s"], ofStack);
});

test("nothing is left of a deleted cluster: no process, no port, no key, no file", async () => {
  const pids = Object.values(readTenantPids());
  const { items } = JSON.parse(await cluster.manage("get", "localclusters.local.marina.dev", "-o", "json"));
  const { port } = items[0].spec.controlPlaneEndpoint;
  await cluster.remove();
  expect(pids.filter(isAlive)).toEqual([]);
  expect(readTenantPids()).toEqual({});
  expect(readdirSync(join(DIR, "tenants"))).toEqual([]);
  expect(await countTenantKeys()).toBe(0);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  server.close();
});

/** Keys of tenants in the shared etcd, by its JSON gateway. */
async function countTenantKeys(): Promise<number> {
  const ports = JSON.parse(readFileSync(join(DIR, "ports.json"), "utf8"));
  const toBase64 = (text: string) => Buffer.from(text).toString("base64");
  const body = { key: toBase64("/tenants/"), range_end: toBase64("/tenants0"), count_only: true };
  const url = `http://127.0.0.1:${ports.etcd}/v3/kv/range`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return Number(((await response.json()) as { count?: string }).count ?? 0);
}

test("a start after a killed supervisor ends what was left, and the clusters come back; Ctrl-C leaves nothing", async () => {
  await stack.stop();
  const dir = join(ROOT, ".marina", "faults-supervisor");
  rmSync(dir, { recursive: true, force: true });
  const first = await start(dir);
  const survivor = await createRealCluster(first.info, "survivor", { nodes: 1 });
  const left = Object.values(readTenantPids(dir));
  const killed = once(first.child, "exit");
  first.child.kill("SIGKILL");
  await killed;
  expect(left.every(isAlive)).toBe(true);

  const second = await start(dir);
  await waitFor("the old processes to end", () => !left.some(isAlive));
  await waitFor("the cluster to serve again", () => survivor.run(["get", "nodes"]));
  const pids = [
    ...Object.values(readTenantPids(dir)),
    ...Object.values(second.info.processes).map(({ pid }) => pid),
  ].filter((pid) => pid > 0);
  const ended = once(second.child, "exit");
  second.child.kill("SIGINT");
  await ended;
  expect(pids.filter(isAlive)).toEqual([]);
  expect(readdirSync(join(dir, "processes"))).toEqual([]);
});

/** The stack as `npm start` runs it, in a separate process. */
async function start(dir: string): Promise<{ child: ChildProcess; info: StackInfo }> {
  const file = join(dir, "stack.json");
  rmSync(file, { force: true });
  const env = { ...process.env, MARINA_API_PORT: "18950" };
  const child = spawn(process.execPath, [join(ROOT, "e2e", "platform", "stack", "start.ts"), "--dir", dir], {
    stdio: "ignore",
    env,
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  await waitFor("the stack to run", () => existsSync(file));
  return { child, info: JSON.parse(readFileSync(file, "utf8")) };
}
