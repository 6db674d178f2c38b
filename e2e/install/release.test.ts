import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { messageOf } from "../programs/start-error.ts";
import { kubectl, readStack, waitFor } from "../stack/testing.ts";
import { createTenant, expectStatus, type Feed } from "../testing/tenant.ts";
import { PREVIOUS_VERSION, VERSION } from "./images.ts";
import { openRelease, type Release } from "./release.ts";
import { storyValues } from "./values.ts";

const stack = readStack();
const NAMESPACE = "marina-system";
const PROGRAMS = ["apiserver", "operator"];
let release: Release;
let tenant: ReturnType<typeof createTenant>;
let orgID: string;
let clusterID: string;
let machines: string[];
let feed: Feed;

beforeAll(async () => {
  release = await openRelease(stack, NAMESPACE);
  tenant = createTenant(await release.findApiUrl(), stack.tokens.alice);
  orgID = expectStatus(201, await tenant.call("createOrganization", { body: { name: "Upgraded" } })).id;
  clusterID = await createRunningCluster("kept");
  machines = await listMachines();
  feed = tenant.follow(`/organizations/${orgID}/clusters/${clusterID}/system-events`);
});
afterAll(() => feed?.close());

async function createRunningCluster(name: string): Promise<string> {
  const pool = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
  const body = { name, k8s_version: "1.34.2", plan: "dev" as const, node_pools: [pool] };
  const { id } = expectStatus(202, await tenant.call("createCluster", { orgID, body }));
  await waitFor(`the cluster ${name} to run`, async () => {
    const cluster = expectStatus(200, await tenant.call("getCluster", { orgID, clusterID: id }));
    return cluster.status === "running" && cluster.nodes.ready === 1;
  });
  return id;
}

/** The machines of all clusters, by uid: a rolled one has another. */
async function listMachines(): Promise<string[]> {
  const { stdout } = await kubectl([
    "get",
    "machines.cluster.x-k8s.io",
    `--namespace=org-${orgID}`,
    "--output=jsonpath={range .items[*]}{.metadata.uid} {end}",
  ]);
  return stdout.trim().split(" ").sort();
}

/** The images of the running Pods, by program. */
async function readImages(): Promise<Record<string, string[]>> {
  const images: Record<string, string[]> = {};
  for (const program of PROGRAMS) {
    const selector = `--selector=app.kubernetes.io/component=${program}`;
    const path = "--output=jsonpath={range .items[*]}{.spec.containers[0].image} {end}";
    images[program] = (await release.kubectl(["get", "pods", selector, path])).trim().split(" ");
  }
  return images;
}

function bothOf(version: string): Record<string, string[]> {
  const image = `marina/marina:${version}`;
  return { apiserver: [image, image], operator: [image, image] };
}

async function setVersions(versions: Record<string, string>): Promise<void> {
  for (const [program, version] of Object.entries(versions))
    await release.kubectl([
      "set",
      "image",
      `deployment/marina-${program}`,
      `${program}=marina/marina:${version}`,
    ]);
  for (const program of PROGRAMS)
    await release.kubectl(["rollout", "status", `deployment/marina-${program}`, "--timeout=120s"]);
  await waitFor("the Pods before to be gone", async () => {
    const images = await readImages();
    return PROGRAMS.every((program) =>
      images[program]?.every((image) => image.endsWith(versions[program] ?? "")),
    );
  });
}

/** The life of a small cluster: created, running, scaled and deleted. Returns the names of the clusters that are left. */
async function changeAndDelete(name: string): Promise<{ clusters: string[] }> {
  const id = await createRunningCluster(name);
  const place = { orgID, clusterID: id };
  const { items: pools } = expectStatus(200, await tenant.call("listNodePools", place));
  const body = { desired_nodes: 2, max_nodes: 2 };
  expectStatus(200, await tenant.call("updateNodePool", { ...place, poolID: pools[0]?.id ?? "", body }));
  await waitFor("a second node", async () => {
    const cluster = expectStatus(200, await tenant.call("getCluster", place));
    return cluster.nodes.ready === 2;
  });
  expectStatus(202, await tenant.call("deleteCluster", place));
  await waitFor("it to be gone", async () => (await tenant.call("getCluster", place)).status === 404);
  const { items } = expectStatus(200, await tenant.call("listClusters", { orgID }));
  return { clusters: items.map((one) => one.name) };
}

/** Reads as a tenant, again and again, while something else goes on. */
async function countFailuresDuring(
  action: () => Promise<void>,
): Promise<{ requests: number; failures: string[] }> {
  const failures: string[] = [];
  let requests = 0;
  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      requests += 1;
      await tenant.request("GET", `/organizations/${orgID}/clusters/${clusterID}`).then(
        ({ status }) => status !== 200 && failures.push(String(status)),
        (error: Error) => failures.push(`${error.message}: ${messageOf(error.cause)}`),
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  await action().finally(() => {
    isOver = true;
  });
  await reading;
  return { requests, failures };
}

/** The stream has been open or was opened again: an event of now arrives, and none was left out or came twice. */
async function expectUnbrokenFeed(): Promise<void> {
  const before = feed.events.length;
  const name = `empty-${before}`;
  const body = { name, vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 0, max_nodes: 1 };
  expectStatus(202, await tenant.call("createNodePool", { orgID, clusterID, body }));
  await waitFor("a new event", () => feed.events.length > before);
  const ids = feed.events.filter(({ id }) => id !== "").map(({ id }) => BigInt(id));
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1)));
  expect(feed.events.filter(({ event }) => event === "gap")).toEqual([]);
}

describe("an installed release, with a tenant's cluster", () => {
  test("runs two replicas of each program, on two nodes", async () => {
    expect(await readImages()).toEqual(bothOf(VERSION));
    for (const program of PROGRAMS) {
      const selector = `--selector=app.kubernetes.io/component=${program}`;
      const path = "--output=jsonpath={range .items[*]}{.spec.nodeName} {end}";
      const nodes = (await release.kubectl(["get", "pods", selector, path])).trim().split(" ").sort();
      expect(nodes).toEqual(["node-a", "node-b"]);
    }
  });

  test("is set back to the previous version: no request fails, no machine is rolled", async () => {
    const { requests, failures } = await countFailuresDuring(() =>
      release.upgrade(storyValues(stack), inject("previousChart")),
    );
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(20);
    expect(await readImages()).toEqual(bothOf(PREVIOUS_VERSION));
    expect(await listMachines()).toEqual(machines);
  });

  test.each([
    ["the operator", VERSION, PREVIOUS_VERSION],
    ["the API server", PREVIOUS_VERSION, VERSION],
  ])("works while %s alone is a version ahead", async (_, operator, apiserver) => {
    await setVersions({ operator, apiserver });
    const { clusters } = await changeAndDelete(`beside ${operator}`);
    expect(clusters).toEqual(["kept"]);
    expect(await listMachines()).toEqual(machines);
  });

  test("is upgraded: no request fails, the stream goes on without a gap, no machine is rolled", async () => {
    // The images were set by another than helm.
    const upgrade = () => release.upgrade(storyValues(stack), undefined, ["--force-conflicts"]);
    const { failures } = await countFailuresDuring(upgrade);
    expect(failures).toEqual([]);
    expect(await readImages()).toEqual(bothOf(VERSION));
    expect(await listMachines()).toEqual(machines);
    await expectUnbrokenFeed();
  });

  test("is rolled back by helm, on the newer schema of the database: no request fails, no machine is rolled", async () => {
    const { failures } = await countFailuresDuring(() => release.rollback());
    expect(failures).toEqual([]);
    expect(await readImages()).toEqual(bothOf(PREVIOUS_VERSION));
    expect(await listMachines()).toEqual(machines);
    await expectUnbrokenFeed();
  });

  test("is uninstalled and installed again: nothing is lost, no machine is rolled", async () => {
    await release.uninstall();
    expect(await release.kubectl(["get", "pods", "--output=name"])).toBe("");
    expect(await listMachines()).toEqual(machines);
    await release.install(storyValues(stack));
    tenant = createTenant(await release.findApiUrl(), stack.tokens.alice);
    const { items } = expectStatus(200, await tenant.call("listClusters", { orgID }));
    expect(items.map(({ id, name, status }) => ({ id, name, status }))).toEqual([
      { id: clusterID, name: "kept", status: "running" },
    ]);
    expect(await listMachines()).toEqual(machines);
    await release.test();
  });
});
