import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildBundles } from "../../../build.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { LABEL_ORG_ID, VERSION_CATALOGUE_CONFIG_MAP } from "../../../shared/crd/names.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { configMapKind, namespaceKind, secretKind } from "../../../shared/kube/core-kinds.ts";
import { defineKind, type Kind, type KubeObject } from "../../../shared/kube/kind.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { DIST, PLATFORM_NAMESPACE } from "../../platform/stack/marina.ts";
import { startStack } from "../../platform/stack/stack.ts";
import { until } from "../measure.ts";
import { BENCH_DIR } from "./bench-dir.ts";

const FIELD_MANAGER = "engineer";
/** A cluster has converged when nothing has changed for this long. */
const STILL_MS = 15_000;

const capiKind = (kind: string): Kind<KubeObject> =>
  defineKind({
    group: "cluster.x-k8s.io",
    version: "v1beta2",
    kind,
    plural: kind === "ClusterClass" ? "clusterclasses" : `${kind.toLowerCase()}s`,
    namespaced: true,
  });

const rbacKind = (kind: string): Kind<KubeObject> =>
  defineKind({
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: true,
  });

const OF_A_CLUSTER: readonly Kind<KubeObject>[] = [
  clusterKind,
  nodePoolKind,
  capiKind("Cluster"),
  capiKind("MachineDeployment"),
  capiKind("MachineSet"),
  capiKind("Machine"),
  secretKind,
  rbacKind("Role"),
  rbacKind("RoleBinding"),
];

/** Names in the template that are replaced in each copy. */
export const TEMPLATE_NAMES = { cluster: "template-cluster", pools: ["template-pool-a", "template-pool-b"] };

/**
 * Records one converged cluster with two pools of one node, created by Cluster API and this operator, once per build of
 * the operator. Returns the file: `{shared, cluster}`, objects as the API server stores them.
 */
export async function recordTemplate(): Promise<string> {
  await buildBundles();
  const build = createHash("sha256")
    .update(readFileSync(join(DIST, "operator.js")))
    .digest("hex");
  const file = join(BENCH_DIR, `template-${build.slice(0, 12)}.json`);
  if (existsSync(file)) return file;
  const stack = await startStack({
    provider: "in-memory",
    dir: join(BENCH_DIR, "template"),
    fresh: true,
    onCrash: "stop",
  });
  const transport = createTransport({ connection: loadConnection(stack.info.kubeconfig) });
  try {
    writeFileSync(file, JSON.stringify(await makeTemplate(createClient(transport))));
    return file;
  } finally {
    await transport.close();
    await stack.stop();
  }
}

async function makeTemplate(client: KubeClient): Promise<{ shared: KubeObject[]; cluster: KubeObject[] }> {
  const organization = randomUUID();
  const namespace = `org-${organization}`;
  const by = { fieldManager: FIELD_MANAGER };
  const name = TEMPLATE_NAMES.cluster;
  const labels = { [LABEL_ORG_ID]: organization };
  await client.create(namespaceKind, { metadata: { name: namespace, labels } }, by);
  await client.create(clusterKind, { metadata: { name, namespace }, spec: { version: "1.34" } }, by);
  for (const pool of TEMPLATE_NAMES.pools) {
    const spec = { clusterName: name, vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 10 };
    const object = { metadata: { name: pool, namespace }, spec: { ...spec, desiredNodes: 1 } };
    await client.create(nodePoolKind, object, by);
  }
  await until("the template to be ready", async () => {
    const { status } = (await client.get(clusterKind, namespace, name)) ?? {};
    return status?.phase === "Ready" && status.nodes?.ready === 2;
  });
  const cluster = await waitUntilConverged(client, namespace);
  const locks = await client.listAll(configMapKind, {
    namespace: PLATFORM_NAMESPACE,
    labelSelector: "cloud.marina.dev/lock",
  });
  const classes = await listObjects(client, capiKind("ClusterClass"), PLATFORM_NAMESPACE);
  const catalogue = await client.get(configMapKind, PLATFORM_NAMESPACE, VERSION_CATALOGUE_CONFIG_MAP);
  const owner = await client.get(namespaceKind, undefined, namespace);
  if (owner === undefined || catalogue === undefined) throw new Error("the template is not whole");
  return { shared: [...classes, catalogue], cluster: [owner, ...locks, ...cluster] };
}

async function waitUntilConverged(client: KubeClient, namespace: string): Promise<KubeObject[]> {
  for (let last = ""; ; ) {
    const kinds = await Promise.all(OF_A_CLUSTER.map((kind) => listObjects(client, kind, namespace)));
    const objects = kinds.flat();
    const versions = objects.map((object) => object.metadata.resourceVersion).join();
    if (versions === last) return objects;
    last = versions;
    await sleep(STILL_MS);
  }
}

/** List items of built-in kinds have no apiVersion and kind; the client adds them. */
function listObjects(client: KubeClient, kind: Kind<KubeObject>, namespace: string): Promise<KubeObject[]> {
  return client.listAll(kind, { namespace });
}
