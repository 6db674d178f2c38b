import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../shared/program/errors.ts";
import type { components } from "../contract/openapi/generated/client.ts";
import type { Delivery } from "../platform/stack/receiver.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { createUntil, type Waiting } from "./reported-wait.ts";
import { createTenant, expectStatus, type Feed, type Tenant } from "./tenant.ts";
import { openWebhookEndpoint } from "./webhook-endpoint.ts";

const run = promisify(execFile);

/** They come in any order, each as soon as its delivery succeeds. */
const EVENTS = ["cluster.created", "cluster.ready", "cluster.deleted"];

/** Called at each step of the story: its title, its result, and the seconds it took. */
export type OnStep = (step: { title: string; detail: string; seconds: number }) => void;

/** The results of the story, for the assertions of the test. */
export interface StoryOutcome {
  organizationId: string;
  clusterId: string;
  nodesAtFirst: string[];
  nodesAfterScaling: string[];
  feed: Feed;
  /** The types of the events that the webhook got, in their order. */
  delivered: string[];
  /** Whether every delivery had a right signature. */
  isSigned: boolean;
}

type StoryStack = Pick<StackInfo, "apiUrl" | "kubectl" | "webhookReceiver"> & { tokens: { alice: string } };

type ClusterRecord = components["schemas"]["Cluster"];
type ClusterPlace = { orgID: string; clusterID: string };

/**
 * The first hour of a tenant, at full speed: an organization, a cluster with two pools watched on the live feed,
 * its kubeconfig, `kubectl get nodes`, a scale-up, where clusters are real the dry run of an upgrade, and the deletion, which is
 * held back first. Throws at the first step that fails. The organization, with its webhook, stays: `onOrganization` has its id.
 */
export async function runTenantStory(
  stack: StoryStack,
  onStep: OnStep,
  options: Waiting & { hasRealClusters?: boolean; onOrganization?: (id: string) => void } = {},
): Promise<StoryOutcome> {
  const alice = createTenant(stack.apiUrl, stack.tokens.alice);
  const until = createUntil(describeSeen, options);
  const step = timeSteps(onStep);

  const organization = expectStatus(201, await alice.call("createOrganization", { body: { name: "Demo" } }));
  options.onOrganization?.(organization.id);
  step("organization created", organization.id);

  const orgID = organization.id;
  const endpoint = openWebhookEndpoint(stack);
  const subscription = { url: endpoint.url, events: ["*" as const] };
  const webhook = expectStatus(201, await alice.call("createWebhook", { orgID, body: subscription }));
  await endpoint.useSecret(webhook.secret);
  step("webhook created", `every event to ${endpoint.url}`);

  const body = { name: "first", k8s_version: "1.34", node_pools: [aPool("general", 2), aPool("memory", 1)] };
  const cluster = expectStatus(202, await alice.call("createCluster", { orgID, body }));
  const place = { orgID, clusterID: cluster.id };
  step("cluster accepted", `${cluster.name}, Kubernetes ${cluster.k8s_version}, status ${cluster.status}`);

  const feed = alice.follow(`/organizations/${orgID}/clusters/${cluster.id}/system-events`);
  try {
    const running = await until("the cluster to run with 3 nodes", () => get(alice, place), isRunningWith(3));
    const events = [...new Set(feed.events.map((event) => event.data.reason ?? event.data.status))];
    step("cluster running", `${running.apiserver_url}; events: ${events.join(", ")}`);

    // At the first start on a machine it is built after the API answers.
    await until("kubectl to be built", async () => existsSync(stack.kubectl), Boolean);
    // The rights of the kubeconfig are given by another controller than the one that reports the cluster as running.
    const listed = await until<string[] | string>(
      "kubectl to list the nodes",
      () => getNodes(stack.kubectl, alice, place).catch(messageOf),
      Array.isArray,
    );
    const nodesAtFirst = [listed].flat();
    step("kubectl get nodes", nodesAtFirst.join(", "));

    const { items: pools } = expectStatus(200, await alice.call("listNodePools", place));
    const poolID = pools.find((pool) => pool.name === "general")?.id ?? "";
    const body = { desired_nodes: 3, max_nodes: 3 };
    expectStatus(200, await alice.call("updateNodePool", { ...place, poolID, body }));
    await until("4 nodes", () => get(alice, place), isRunningWith(4));
    const nodesAfterScaling = await getNodes(stack.kubectl, alice, place);
    step("pool scaled from 2 to 3", nodesAfterScaling.join(", "));

    if (options.hasRealClusters) await checkUpgrade(stack.kubectl, alice, place, step);
    await holdDeletion(alice, place, step);

    expectStatus(202, await alice.call("deleteCluster", place));
    await until(
      "the cluster to be deleted",
      () => alice.call("getCluster", place),
      ({ status }) => status === 404,
    );
    await until(
      "the feed to end",
      async () => feed.events.at(-1)?.event,
      (last) => last === "deleted",
    );
    step("cluster deleted", "nothing left");

    const deliveries = await until(
      "the events of the cluster's life",
      () => endpoint.list(),
      (received) => EVENTS.every((type) => received.some((one) => typeOf(one) === type)),
    );
    const delivered = deliveries.map(typeOf);
    const isSigned = deliveries.every(({ verified }) => verified === true);
    step(
      "webhook called",
      `${delivered.join(", ")}; ${isSigned ? "every signature is right" : "A WRONG SIGNATURE"}`,
    );
    return {
      organizationId: organization.id,
      clusterId: cluster.id,
      nodesAtFirst,
      nodesAfterScaling,
      feed,
      delivered,
      isSigned,
    };
  } finally {
    feed.close();
  }
}

function typeOf({ body }: Pick<Delivery, "body">): string {
  return (JSON.parse(body) as { type: string }).type;
}

function aPool(name: string, desiredNodes: number) {
  return { name, vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: desiredNodes };
}

function isRunningWith(nodes: number) {
  return (cluster: ClusterRecord): boolean =>
    cluster.status === "running" && cluster.nodes.ready === nodes && cluster.nodes.total === nodes;
}

/** Protects the cluster, has its deletion refused, and lifts the protection. */
async function holdDeletion(alice: Tenant, place: ClusterPlace, step: Step): Promise<void> {
  const protect = async (value: boolean) =>
    expectStatus(200, await alice.call("updateCluster", { ...place, body: { deletion_protection: value } }));
  await protect(true);
  const { error } = expectStatus(409, await alice.call("deleteCluster", place));
  await protect(false);
  step("deletion held back", error.message);
}

/** A webhook that refuses all new pods, for nobody answers it. */
const DEAD_WEBHOOK = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "policy" },
  webhooks: [
    {
      name: "policy.example.com",
      clientConfig: { service: { namespace: "default", name: "policy" } },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ],
};

/** A dry run of an upgrade that something in the cluster stands in the way of. */
async function checkUpgrade(kubectl: string, alice: Tenant, place: ClusterPlace, step: Step): Promise<void> {
  await runKubectl(kubectl, alice, place, ["apply", "-f"], JSON.stringify(DEAD_WEBHOOK));
  const path = `/organizations/${place.orgID}/clusters/${place.clusterID}/upgrade?dry_run=true`;
  const { status, body } = await alice.request<ClusterRecord>("POST", path, { target_version: "1.35" });
  if (status !== 200) throw new Error(`the dry run of an upgrade is ${status}: ${JSON.stringify(body)}`);
  const { checks = [], nodes_replaced: nodes } = body.effects ?? {};
  const [check] = Array.isArray(checks) ? checks : [];
  if (check === undefined) throw new Error(`the dry run found nothing: ${JSON.stringify(checks)}`);
  step(
    "upgrade tried as dry run",
    `${nodes} nodes replaced; ${check.severity}: ${check.message} ${check.fix}`,
  );
}

async function getNodes(kubectl: string, tenant: Tenant, place: ClusterPlace): Promise<string[]> {
  const workers = ["get", "nodes", "-l", "!node-role.kubernetes.io/control-plane", "-o", "name"];
  const stdout = await runKubectl(kubectl, tenant, place, workers);
  return stdout.split("\n").filter((line) => line !== "");
}

/** What kubectl prints with the kubeconfig of the cluster; the name of a file with the manifest is its last argument. */
async function runKubectl(
  kubectl: string,
  tenant: Tenant,
  place: ClusterPlace,
  args: readonly string[],
  manifest?: string,
): Promise<string> {
  const kubeconfig = expectStatus(200, await tenant.call("getKubeconfig", place));
  const folder = await mkdtemp(join(tmpdir(), "marina-kubeconfig-"));
  const [config, file] = ["config", "manifest.json"].map((name) => join(folder, name)) as [string, string];
  try {
    await writeFile(config, kubeconfig, { mode: 0o600 });
    if (manifest !== undefined) await writeFile(file, manifest);
    const all = ["--kubeconfig", config, ...args, ...(manifest === undefined ? [] : [file])];
    return (await run(kubectl, all)).stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function get(tenant: Tenant, place: ClusterPlace): Promise<ClusterRecord> {
  return expectStatus(200, await tenant.call("getCluster", place));
}

/** The state of a cluster, of a response or of a list, in a few words. */
export function describeSeen(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} so far`;
  if (typeof value !== "object" || value === null) return String(value);
  const { status, status_message: message, nodes } = value as Partial<ClusterRecord>;
  const ready = nodes === undefined ? "" : `, ${nodes.ready} of ${nodes.total} nodes ready`;
  return `${status}${ready}${message ? `: ${message}` : ""}`;
}

type Step = ReturnType<typeof timeSteps>;

function timeSteps(onStep: OnStep) {
  let last = performance.now();
  return (title: string, detail: string): void => {
    const now = performance.now();
    onStep({ title, detail, seconds: (now - last) / 1000 });
    last = now;
  };
}
