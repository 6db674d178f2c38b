import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { conditionOf, createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { type KStatus, type KStatusReader, openKStatus } from "../testing/kstatus.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const EXAMPLES = join(ROOT, "examples", "gitops");
/** Whom the example lets write the clusters of one organization. */
const PIPELINE = "system:serviceaccount:flux-clusters:clusters";
const OBJECTS = ["production-cluster", "production-workers", "staging-cluster", "staging-workers"] as const;
const STAGING = ["staging-cluster", "staging-workers"] as const;
type Name = (typeof OBJECTS)[number];

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const folder = mkdtempSync(join(tmpdir(), "marina-gitops-"));

let engineer: Engineer;
let kstatus: KStatusReader;
/** What the last synchronization that ended had in its manifests, as kubectl names it. */
let inventory: string[] = [];

/** The clusters of the examples in an organization's Namespace, with the right that the examples give their pipeline. */
beforeAll(async () => {
  cpSync(join(EXAMPLES, "clusters"), folder, { recursive: true });
  const created = await alice.call("createOrganization", { body: { name: "GitOps examples" } });
  engineer = await createEngineer(stack, expectStatus(201, created).id);
  kstatus = await openKStatus();
  const rights = parseAllDocuments(readFileSync(join(EXAMPLES, "flux", "rights.yaml"), "utf8"))
    .map((document) => document.toJS())
    .find(({ kind }) => kind === "RoleBinding");
  const stdin = stringify({ ...rights, metadata: { ...rights.metadata, namespace: engineer.namespace } });
  await kubectl(["apply", "-f", "-"], { stdin });
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await kstatus?.close();
  await engineer?.close();
});

function asPipeline(args: readonly string[], stdin = ""): Promise<{ stdout: string }> {
  return kubectl([...args, `--namespace=${engineer.namespace}`, `--as=${PIPELINE}`], { stdin });
}

/** What a commit does to a file of the repository. */
function commit(path: string, change: (file: object) => object): void {
  const file = join(folder, path);
  writeFileSync(file, stringify(change(parse(readFileSync(file, "utf8")))));
}

/** Has an overlay set these fields of the specifications of its objects, by their kinds, and no others. */
function overlay(name: "production" | "staging", specs: Record<string, object>): void {
  const patches = Object.entries(specs).map(([kind, spec]) => ({
    target: { kind },
    patch: JSON.stringify({ kind, metadata: { name: "any" }, spec }),
  }));
  commit(join(name, "kustomization.yaml"), (file) => ({ ...file, patches }));
}

/**
 * One synchronization in the requests of kustomize-controller: a dry run of all, so that what is refused leaves nothing half done;
 * a server-side apply, which takes fields from others; and the deletion of what the manifests no longer have. Rejects with the
 * first refusal, after which the next one tries all of it again.
 */
async function synchronize(): Promise<void> {
  const { stdout: manifests } = await kubectl(["kustomize", folder]);
  const apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller"];
  await asPipeline([...apply, "--dry-run=server", "-f", "-"], manifests);
  const { stdout } = await asPipeline([...apply, "-f", "-", "-o", "name"], manifests);
  const names = stdout.trim().split("\n");
  for (const name of inventory.filter((one) => !names.includes(one)))
    await asPipeline(["delete", name, "--wait=false"]);
  inventory = names;
}

const find = (name: Name) =>
  name.endsWith("cluster")
    ? engineer.client.get(clusterKind, engineer.namespace, name)
    : engineer.client.get(nodePoolKind, engineer.namespace, name);

/** As a Kustomization with `wait: true` waits. */
async function untilCurrent(): Promise<void> {
  for (const name of OBJECTS)
    await waitFor(`${name} to be current`, async () => {
      const object = await find(name);
      const status = object && (await kstatus.compute(object));
      if (status === "Current") return true;
      throw new Error(`${status}: ${JSON.stringify(object?.status?.conditions)}`);
    });
}

/** Until the history has the state of now; returns how many states it has. */
function countStates(name: Name): Promise<number> {
  return waitFor(`the history of ${name}`, async () => {
    const now = (await find(name))?.metadata.resourceVersion;
    const states = engineer.history.of(name);
    const last = states.at(-1)?.metadata;
    const isUpToDate = now === undefined ? last?.deletionTimestamp : now === last?.resourceVersion;
    return isUpToDate ? states.length : undefined;
  });
}

async function countAll(): Promise<Record<Name, number>> {
  const counts = await Promise.all(OBJECTS.map(async (name) => [name, await countStates(name)]));
  return Object.fromEntries(counts);
}

/** What kstatus says of the states from this one on, without repetitions. */
async function storyOf(name: Name, from = 1): Promise<KStatus[]> {
  await countStates(name);
  const results: KStatus[] = [];
  for (const state of engineer.history.of(name).slice(from - 1)) {
    const result = await kstatus.compute(state);
    if (results.at(-1) !== result) results.push(result);
  }
  return results;
}

test("the clusters of the examples are in progress from the apply until they are as Git says, and current from then on", async () => {
  await synchronize();
  await untilCurrent();
  for (const name of OBJECTS) expect([name, await storyOf(name)]).toEqual([name, ["InProgress", "Current"]]);
  expect((await engineer.getPool("production-workers")).status).toMatchObject({ readyNodes: 2 });
  expect((await engineer.getPool("staging-workers")).status).toMatchObject({ readyNodes: 1 });
});

test("an apply of the same manifests changes nothing", async () => {
  const versions = () =>
    Promise.all(OBJECTS.map(async (name) => [name, (await find(name))?.metadata.generation]));
  const before = await versions();
  await synchronize();
  expect(await versions()).toEqual(before);
  await untilCurrent();
});

test("what was changed by hand is put back by the next apply, and what Git does not name stays", async () => {
  await kubectl([
    "scale",
    "nodepools.cloud.marina.dev/staging-workers",
    `--namespace=${engineer.namespace}`,
    "--replicas=2",
  ]);
  await engineer.patchPool("staging-workers", { spec: { maxNodes: 5, nodeLabels: { tier: "web" } } });
  // When a number is taken back before Cluster API has acted on it, a late write of Cluster API may begin to scale once more.
  const changed = await waitFor("the second node", async () => {
    const pool = await engineer.getPool("staging-workers");
    return pool.status?.readyNodes === 2 ? pool : undefined;
  });
  expect(changed.spec).toMatchObject({ desiredNodes: 2, maxNodes: 5 });
  await synchronize();
  expect((await engineer.getPool("staging-workers")).spec).toMatchObject({
    desiredNodes: 1,
    maxNodes: 3,
    nodeLabels: { tier: "web" },
  });
  await untilCurrent();
});

test.each([
  ["a field that the platform sets", { Cluster: { suspend: true } }, "spec.suspend is set by the platform"],
  ["an invalid field", { NodePool: { vcpus: 0 } }, "spec.vcpus"],
])("%s is refused with its reason, and nothing else of the commit is done", async (_name, specs, reason) => {
  const readSpecs = async () => (await Promise.all(OBJECTS.map(find))).map((object) => object?.spec);
  const before = await readSpecs();
  overlay("production", { NodePool: { desiredNodes: 3 } });
  overlay("staging", specs);
  await expect(synchronize()).rejects.toThrow(reason);
  expect(await readSpecs()).toEqual(before);
  overlay("production", { NodePool: { desiredNodes: 2 } });
  overlay("staging", {});
  await synchronize();
  await untilCurrent();
});

test("an upgrade is a commit: the cluster and its pool are in progress until the last node has the version", async () => {
  const from = await countAll();
  overlay("staging", { Cluster: { version: "1.35" } });
  await synchronize();
  await untilCurrent();
  for (const name of STAGING)
    expect(await storyOf(name, from[name])).toEqual(["Current", "InProgress", "Current"]);
  expect(await storyOf("production-cluster", from["production-cluster"])).toEqual(["Current"]);
  expect((await engineer.getPool("staging-workers")).status).toMatchObject({ version: "1.35.1" });
});

test("what is protected stays when Git removes it, and goes once Git has lifted that", async () => {
  const protect = (deletionProtection: boolean) =>
    overlay("staging", {
      Cluster: { version: "1.35", deletionProtection },
      NodePool: { deletionProtection },
    });
  const list = (resources: string[]) => commit("kustomization.yaml", (file) => ({ ...file, resources }));
  protect(true);
  await synchronize();
  await untilCurrent();
  list(["production"]);
  await expect(synchronize()).rejects.toThrow(/staging-.* is protected from deletion/);
  const kept = [await engineer.getCluster("staging-cluster"), await engineer.getPool("staging-workers")];
  expect(kept.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined, undefined]);
  expect(kept.map((object) => conditionOf(object, "DeletionProtected")?.status)).toEqual(["True", "True"]);

  list(["production", "staging"]);
  protect(false);
  await synchronize();
  await untilCurrent();
  const from = await countAll();
  list(["production"]);
  await synchronize();
  await waitFor("staging to be gone", async () => {
    const left = await Promise.all(STAGING.map(find));
    return left.every((object) => object === undefined);
  });
  for (const name of STAGING) expect(await storyOf(name, from[name])).toEqual(["Current", "Terminating"]);
  expect(await storyOf("production-cluster", from["production-cluster"])).toEqual(["Current"]);
});
