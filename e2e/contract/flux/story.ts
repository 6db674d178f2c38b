import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { ANNOTATION_ALLOWED_REGISTRATION } from "../../../shared/crd/names.ts";
import { secretKind } from "../../../shared/kube/core-kinds.ts";
import { ROOT } from "../../platform/stack/marina.ts";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { withFile } from "../../testing/credentials.ts";
import { conditionOf, createEngineer, type Engineer } from "../../testing/custom-resources.ts";
import { playOrganizationJob } from "../../testing/organization-job.ts";
import { createTenant, expectStatus } from "../../testing/tenant.ts";
import { startControllers } from "./controllers.ts";
import { type GitRepository, serveRepository } from "./git-server.ts";
import { waitForSync } from "./sync.ts";

const EXAMPLES = join(ROOT, "examples", "gitops");
const NAMESPACE = "flux-clusters";
const SYNC = ["kustomization/clusters", "-n", NAMESPACE];

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const stops: (() => Promise<void>)[] = [];

let repository: GitRepository;
let engineer: Engineer;
let orgID: string;

beforeAll(async () => {
  repository = await serveRepository(EXAMPLES);
  stops.push(() => repository.close());
  await kubectl(["create", "namespace", NAMESPACE]);
  stops.push(await startControllers(stack, NAMESPACE, ["source-controller", "kustomize-controller"]));
});

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

const sync = (status: "True" | "False", message: RegExp) =>
  waitForSync(NAMESPACE, repository, status, message);

const CLUSTERS = ["production", "staging"] as const;
const WORKLOADS = CLUSTERS.flatMap((name) => [`${name}-add-ons`, `${name}-web`]);

/** kubectl in a cluster, with the kubeconfig that Flux deploys with; returns what it printed. */
async function runIn(name: (typeof CLUSTERS)[number], ...args: string[]): Promise<string> {
  const secretName = `${name}-cluster.flux-kubeconfig.cloud.marina.dev`;
  const secret = await engineer.client.get(secretKind, engineer.namespace, secretName);
  const text = Buffer.from(secret?.data?.value ?? "", "base64").toString();
  return withFile(text, async (kubeconfig) => (await kubectl(args, { kubeconfig })).stdout);
}

const commit = (path: string, from: string | RegExp, to: string) =>
  repository.commit(join("clusters", path), (text) => text.replace(from, to));

test("two clusters come from a repository made of the examples by their page alone, and are ready when Flux says so", async () => {
  const addresses = {
    "https://git.example.com/platform/organizations.git": repository.url,
    "https://git.example.com/platform/clusters.git": repository.url,
    "https://marina.example.com": stack.apiUrl,
    "https://id.example.com/realms/marina/protocol/openid-connect/token": `${stack.issuer}/token`,
  };
  const fillIn = (text: string) =>
    Object.entries(addresses).reduce((filled, [from, to]) => filled.replaceAll(from, to), text);
  for (const file of ["organization/job.yaml", "flux/sync.yaml"]) await repository.commit(file, fillIn);
  const client = ["--from-literal=client-id=pipeline", "--from-literal=client-secret=played"];
  await kubectl(["create", "secret", "generic", "marina-client", "-n", NAMESPACE, ...client]);
  const stdin = fillIn(readFileSync(join(EXAMPLES, "organization.yaml"), "utf8"));
  await kubectl(["apply", "-f", "-"], { stdin });
  await playOrganizationJob(stack, { namespace: NAMESPACE, service: "alice" });
  const readID = ["get", "configmap/organization", "-n", NAMESPACE, "-o", "jsonpath={.data.id}"];
  orgID = (await kubectl(readID)).stdout;
  // What was said of the cluster before it was renamed has its old name.
  engineer = await createEngineer(stack, orgID, { tolerated: /it calls Staging staging-cluster$/ });
  stops.push(() => engineer.close());
  await waitFor("the synchronization", async () => (await kubectl(["get", ...SYNC])).stdout !== "");
  await sync("True", /^Applied revision/);
  for (const name of ["production-cluster", "staging-cluster"])
    expect((await engineer.getCluster(name)).status).toMatchObject({ phase: "Ready", version: "1.34.2" });
  expect((await engineer.getPool("production-workers")).status).toMatchObject({
    phase: "Ready",
    readyNodes: 2,
  });
});

test("the pipeline that made the clusters deploys an add-on and a Deployment into both, and they are ready when Flux says so", async () => {
  const { namespace } = engineer;
  await kubectl(["annotate", "namespace", namespace, `${ANNOTATION_ALLOWED_REGISTRATION}=fluxSecret`]);
  const manifest = readFileSync(join(EXAMPLES, "workloads", "sync.yaml"), "utf8");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder of the example
  await kubectl(["apply", "-f", "-"], { stdin: manifest.replaceAll("${namespace}", namespace) });
  const addComponent = (text: string) => `${text}components:\n  - ../registration\n`;
  for (const name of CLUSTERS) await repository.commit(`clusters/${name}/kustomization.yaml`, addComponent);
  await sync("True", /^Applied revision/);
  for (const name of WORKLOADS)
    await kubectl([
      "wait",
      `kustomization/${name}`,
      "-n",
      namespace,
      "--for=condition=Ready",
      "--timeout=10m",
    ]);
  for (const name of CLUSTERS) {
    await runIn(name, "rollout", "status", "deployment/agent", "-n", "platform-agent", "--timeout=10s");
    await runIn(name, "rollout", "status", "deployment/web", "-n", "web", "--timeout=10s");
    expect(await runIn(name, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")).toBe(
      "registration",
    );
  }
});

test("REST refuses what Git owns and names Flux, changes what Git does not name, and Flux leaves that", async () => {
  const { items } = expectStatus(200, await alice.call("listClusters", { orgID }));
  const clusterID = items.find(({ name }) => name === "staging-cluster")?.id ?? "";
  const refused = await alice.call("upgradeCluster", {
    orgID,
    clusterID,
    body: { target_version: "1.35.1" },
  });
  expect(refused).toMatchObject({ status: 409, body: { error: { code: "managed_elsewhere" } } });
  expect(JSON.stringify(refused.body)).toContain("kustomize-controller");
  expectStatus(200, await alice.call("updateCluster", { orgID, clusterID, body: { name: "Staging" } }));
  await sync("True", /^Applied revision/);
  expect((await engineer.getCluster("staging-cluster")).spec.displayName).toBe("Staging");
});

test("what was changed by hand is put back, unless the synchronization is suspended", async () => {
  const scale = (replicas: number) =>
    kubectl([
      "scale",
      "nodepools.cloud.marina.dev/staging-workers",
      "-n",
      engineer.namespace,
      `--replicas=${replicas}`,
    ]);
  await scale(3);
  await sync("True", /^Applied revision/);
  expect((await engineer.getPool("staging-workers")).spec.desiredNodes).toBe(1);
  const suspend = (value: boolean) =>
    kubectl(["patch", ...SYNC, "--type=merge", "-p", JSON.stringify({ spec: { suspend: value } })]);
  await suspend(true);
  await scale(2);
  await waitFor(
    "the nodes",
    async () => (await engineer.getPool("staging-workers")).status?.readyNodes === 2,
  );
  await suspend(false);
  await sync("True", /^Applied revision/);
  expect((await engineer.getPool("staging-workers")).spec.desiredNodes).toBe(1);
});

/** Has Git set this number of nodes in staging, or none, and say who counts them. */
function setCount(desiredNodes: number | undefined, countedBy = "Git"): Promise<void> {
  const count = desiredNodes === undefined ? { op: "remove" } : { op: "replace", value: desiredNodes };
  const patch = JSON.stringify([{ ...count, path: "/spec/desiredNodes" }]);
  const own = {
    commonAnnotations: { "example.com/counted-by": countedBy },
    patches: [{ target: { kind: "NodePool" }, patch }],
  };
  const change = (text: string) => stringify({ ...parse(text), ...own });
  return repository.commit("clusters/staging/kustomization.yaml", change);
}

test("a number of nodes that Git leaves to another manager or a tenant survives in both orders of handing it over", async () => {
  const { namespace } = engineer;
  const count = (desiredNodes: number) => {
    const metadata = { name: "staging-workers", namespace };
    const object = { apiVersion: "cloud.marina.dev/v1", kind: "NodePool", metadata, spec: { desiredNodes } };
    const args = ["apply", "--server-side", "--field-manager=counter", "-f", "-"];
    return kubectl(args, { stdin: JSON.stringify(object) });
  };
  const readPool = () => engineer.getPool("staging-workers");
  await setCount(1);
  await sync("True", /^Applied revision/);
  await count(1);
  await setCount(undefined);
  await sync("True", /^Applied revision/);
  // Flux writes nothing where nothing differs, and so keeps a field that its manifest names no more.
  await expect(count(2)).rejects.toThrow("kustomize-controller");
  await setCount(undefined, "counter");
  await sync("True", /^Applied revision/);
  await count(2);
  await sync("True", /^Applied revision/);
  expect((await readPool()).spec.desiredNodes).toBe(2);

  await setCount(3);
  await sync("True", /^Applied revision/);
  expect((await readPool()).status).toMatchObject({ readyNodes: 3 });
  await setCount(undefined, "the tenant");
  await sync("True", /^Applied revision/);
  const released = await readPool();
  expect(released).toMatchObject({ spec: { desiredNodes: 1 }, status: { readyNodes: 3 } });
  expect(conditionOf(released, "Scaling")?.reason).toBe("CountReleased");
  const { items: clusters } = expectStatus(200, await alice.call("listClusters", { orgID }));
  const clusterID = clusters.find(({ name }) => name === "Staging")?.id ?? "";
  const { items: pools } = expectStatus(200, await alice.call("listNodePools", { orgID, clusterID }));
  const place = { orgID, clusterID, poolID: pools[0]?.id ?? "" };
  expectStatus(200, await alice.call("updateNodePool", { ...place, body: { desired_nodes: 2 } }));
  await sync("True", /^Applied revision/);
  expect(await readPool()).toMatchObject({ spec: { desiredNodes: 2 }, status: { readyNodes: 2 } });
});

test("a version that is not offered stalls the cluster, and the reason is in the Kustomization; nothing else changes", async () => {
  await commit("base/cluster.yaml", '"1.34"', '"1.35.9"');
  await sync("False", /stalled|failed early/i);
  expect((await engineer.getCluster("production-cluster")).status).toMatchObject({ version: "1.34.2" });
  await commit("base/cluster.yaml", '"1.35.9"', '"1.34"');
  await sync("True", /^Applied revision/);
});

test("what is refused shows Marina's reason in the Kustomization", async () => {
  await commit("base/node-pool.yaml", "vcpus: 2", "vcpus: 0");
  await sync("False", /vcpus/);
  expect((await engineer.getPool("production-workers")).spec.vcpus).toBe(2);
  await commit("base/node-pool.yaml", "vcpus: 0", "vcpus: 2");
  await sync("True", /^Applied revision/);
});

test("an upgrade is a commit, and ready when the last node has it", async () => {
  await commit("base/cluster.yaml", '"1.34"', '"1.35"');
  await sync("True", /^Applied revision/);
  for (const name of ["production", "staging"]) {
    expect((await engineer.getCluster(`${name}-cluster`)).status).toMatchObject({ version: "1.35.1" });
    expect((await engineer.getPool(`${name}-workers`)).status).toMatchObject({ version: "1.35.1" });
  }
});

test("what was deployed goes with its Kustomizations, and stays where they stay", async () => {
  const { namespace } = engineer;
  for (const name of ["staging-web", "staging-add-ons"])
    await kubectl(["delete", `kustomization/${name}`, "-n", namespace]);
  await waitFor("both Namespaces to go from staging", async () => {
    const names = await runIn("staging", "get", "namespaces", "-o", "name");
    return !/namespace\/(web|platform-agent)\b/.test(names);
  });
  const rollout = ["rollout", "status", "deployment/web", "-n", "web", "--timeout=60s"];
  const stays = await runIn("production", ...rollout);
  expect(stays).toContain("successfully rolled out");
  for (const name of ["production-web", "production-add-ons"])
    await kubectl(["delete", `kustomization/${name}`, "-n", namespace]);
});

/** Has Git protect staging, with its pool, from deletion, or not. */
function setProtection(value: boolean): Promise<void> {
  const patch = JSON.stringify([{ op: "add", path: "/spec/deletionProtection", value }]);
  const target = { kind: "Cluster|NodePool" };
  return repository.commit("clusters/staging/kustomization.yaml", (text) => {
    const { patches = [], ...rest } = parse(text);
    const others = patches.filter((one: { target: object }) => !isDeepStrictEqual(one.target, target));
    return stringify({ ...rest, patches: [...others, { target, patch }] });
  });
}

test("what is protected stays when it is removed from the repository, and the Kustomization says so until Git lifts that", async () => {
  await setProtection(true);
  await sync("True", /^Applied revision/);
  await commit("kustomization.yaml", "  - staging\n", "");
  await sync(
    "False",
    /The cluster staging-cluster is protected from deletion: set spec.deletionProtection to false first/,
  );
  const [cluster, pool] = [
    await engineer.getCluster("staging-cluster"),
    await engineer.getPool("staging-workers"),
  ];
  expect([cluster, pool].map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined, undefined]);
  expect(conditionOf(cluster, "DeletionProtected")?.status).toBe("True");
  // The rest of the repository is still applied, and the next synchronization tries the prune again.
  await commit("kustomization.yaml", "  - production\n", "  - production\n  - staging\n");
  await setProtection(false);
  await sync("True", /^Applied revision/);
});

test("what is removed from the repository is deleted whole, and so is the rest with the Kustomization", async () => {
  await commit("kustomization.yaml", "  - staging\n", "");
  await sync("True", /^Applied revision/);
  const listed = async () => expectStatus(200, await alice.call("listClusters", { orgID })).items;
  await waitFor("one cluster", async () => (await listed()).length === 1);
  await kubectl(["delete", "kustomization/synchronization", "-n", NAMESPACE]);
  await kubectl(["delete", ...SYNC]);
  await waitFor("no cluster", async () => (await listed()).length === 0);
});
