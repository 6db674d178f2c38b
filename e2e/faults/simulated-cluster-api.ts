import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { capiClusterKind, machineDeploymentKind, machineKind } from "../testing/custom-resources.ts";

// biome-ignore lint/suspicious/noExplicitAny: Cluster API's objects are written field by field, as its CRDs accept them
type Any = any;

const SIMULATOR = { fieldManager: "simulated-cluster-api" };
const FINALIZER = "cluster.cluster.x-k8s.io";
const LABEL_CLUSTER = "cluster.x-k8s.io/cluster-name";
const LABEL_POOL = "topology.cluster.x-k8s.io/deployment-name";
const SINCE = "2026-01-01T00:00:00Z";
/** Between two passes, each of which lists what it looks at. */
const PAUSE_MS = 150;

/**
 * Simulates Cluster API in one namespace, in tenths of a second: creates and deletes MachineDeployments and Machines as
 * the topology says, replaces Machines in an upgrade, deletes workers before the cluster. The tenant's API server is
 * the one in `kubeconfig`, so certificates and bindings are real. Runs until `stop`.
 */
export function simulateClusterApi(
  client: KubeClient,
  kubeconfig: string,
  namespace: string,
): { stop(): Promise<void> } {
  const read = (file: string) => readFileSync(join(dirname(kubeconfig), "certificates", file));
  const { hostname, port } = new URL(loadConnection(kubeconfig).server);
  const tenant: Tenant = {
    endpoint: { host: hostname, port: Number(port) },
    authority: { "tls.crt": read("ca.crt").toString("base64"), "tls.key": read("ca.key").toString("base64") },
  };
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      try {
        for (const cluster of await client.listAll(capiClusterKind, { namespace })) {
          await reconcileCluster(client, tenant, cluster);
        }
      } catch {
        // A conflict, or the API is unavailable: the next pass retries.
      }
      await sleep(PAUSE_MS);
    }
  })();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}

interface Tenant {
  endpoint: { host: string; port: number };
  authority: Record<string, string>;
}

async function reconcileCluster(client: KubeClient, tenant: Tenant, cluster: Any): Promise<void> {
  const { namespace, name } = cluster.metadata;
  const ofCluster = { namespace, labelSelector: `${LABEL_CLUSTER}=${name}` };
  const machines: Any[] = await client.listAll(machineKind, ofCluster);
  const deployments: Any[] = await client.listAll(machineDeploymentKind, ofCluster);
  if (cluster.metadata.deletionTimestamp !== undefined) {
    return removeCluster(client, cluster, machines, deployments);
  }
  if (cluster.spec.controlPlaneEndpoint === undefined) return initializeCluster(client, tenant, cluster);
  const desired: Any[] = cluster.spec.topology.workers?.machineDeployments ?? [];
  for (const deployment of deployments) {
    const isDesired = desired.some((entry) => entry.name === deployment.metadata.labels[LABEL_POOL]);
    if (isDesired) continue;
    for (const machine of machinesOf(machines, deployment)) await remove(client, machineKind, machine);
    await remove(client, machineDeploymentKind, deployment);
  }
  for (const entry of desired) await reconcilePool(client, cluster, entry, machines);
  await client.apply(capiClusterKind, statusOfCluster(cluster, machines), {
    ...SIMULATOR,
    subresource: "status",
  });
}

async function initializeCluster(client: KubeClient, tenant: Tenant, cluster: Any): Promise<void> {
  const { namespace, name } = cluster.metadata;
  const metadata = { namespace, name: `${name}-ca`, labels: { [LABEL_CLUSTER]: name } };
  const secret = { metadata, type: "cluster.x-k8s.io/secret", data: tenant.authority };
  await client.apply(secretKind, secret, { ...SIMULATOR, force: true });
  const patch = { metadata: { finalizers: [FINALIZER] }, spec: { controlPlaneEndpoint: tenant.endpoint } };
  await client.mergePatch(capiClusterKind, namespace, name, patch, SIMULATOR);
}

async function removeCluster(client: KubeClient, cluster: Any, machines: Any[], deployments: Any[]) {
  const { namespace, name } = cluster.metadata;
  if (machines.length + deployments.length > 0) {
    for (const machine of machines) await remove(client, machineKind, machine);
    for (const deployment of deployments) await remove(client, machineDeploymentKind, deployment);
    return;
  }
  await client.delete(secretKind, namespace, `${name}-ca`);
  await client.mergePatch(capiClusterKind, namespace, name, { metadata: { finalizers: null } }, SIMULATOR);
}

async function reconcilePool(client: KubeClient, cluster: Any, entry: Any, all: Any[]): Promise<void> {
  const { namespace, name } = cluster.metadata;
  const labels = { [LABEL_CLUSTER]: name, [LABEL_POOL]: entry.name };
  const annotations = entry.metadata?.annotations ?? {};
  const metadata = { namespace, name: `${name}-${entry.name}`, labels, annotations };
  const { version } = cluster.spec.topology;
  const template = { spec: { ...machineSpec(name), version } };
  const spec = { clusterName: name, replicas: entry.replicas, selector: { matchLabels: labels }, template };
  const deployment: Any = await client.apply(machineDeploymentKind, { metadata, spec } as Any, {
    ...SIMULATOR,
    force: true,
  });
  const machines = machinesOf(all, deployment);
  const outdated = machines.filter((machine) => machine.spec.version !== version);
  const surplus = machines.filter((machine) => machine.spec.version === version).slice(entry.replicas);
  for (const machine of [...outdated, ...surplus]) await remove(client, machineKind, machine);
  for (let missing = entry.replicas - machines.length; missing > 0; missing--) {
    const machineName = `${metadata.name}-${crypto.randomUUID().slice(0, 8)}`;
    const machine: Any = {
      metadata: { namespace, name: machineName, labels, annotations },
      spec: template.spec,
    };
    await client.create(machineKind, machine, SIMULATOR);
    const status = {
      phase: "Running",
      nodeRef: { name: machineName },
      conditions: [condition("Ready", "True")],
    };
    await client.apply(machineKind, { metadata: machine.metadata, status } as Any, {
      ...SIMULATOR,
      subresource: "status",
    });
  }
  for (const { metadata: own } of machines) {
    if (Object.entries(annotations).every(([key, value]) => own.annotations?.[key] === value)) continue;
    await client.mergePatch(machineKind, namespace, own.name, { metadata: { annotations } }, SIMULATOR);
  }
  const ready = machines.length - outdated.length - surplus.length;
  const status = {
    observedGeneration: deployment.metadata.generation,
    selector: `${LABEL_POOL}=${entry.name}`,
    replicas: machines.length - surplus.length,
    readyReplicas: ready,
    availableReplicas: ready,
    upToDateReplicas: ready,
    ...(machines.length > 0 && { versions: countVersions(machines) }),
    conditions: [
      condition("RollingOut", outdated.length > 0 ? "True" : "False"),
      condition("Available", "True"),
    ],
  };
  await client.apply(machineDeploymentKind, { metadata, status } as Any, {
    ...SIMULATOR,
    subresource: "status",
  });
}

function statusOfCluster(cluster: Any, machines: Any[]) {
  const { namespace, name, generation } = cluster.metadata;
  const { version } = cluster.spec.topology;
  const rolling = machines.some((machine) => machine.spec.version !== version);
  const good = ["Available", "TopologyReconciled", "ControlPlaneInitialized", "ControlPlaneAvailable"];
  const conditions = [
    ...[...good, "InfrastructureReady", "RemoteConnectionProbe"].map((type) =>
      condition(type, "True", generation),
    ),
    condition("RollingOut", rolling ? "True" : "False", generation),
  ];
  const status = {
    observedGeneration: generation,
    phase: "Provisioned",
    conditions,
    controlPlane: { versions: [{ version, replicas: 1 }] },
    ...(machines.length > 0 && { workers: { versions: countVersions(machines) } }),
  };
  return { metadata: { namespace, name }, status };
}

function machineSpec(clusterName: string) {
  const infrastructureRef = {
    apiGroup: "infrastructure.cluster.x-k8s.io",
    kind: "DevMachine",
    name: "simulated",
  };
  return { clusterName, bootstrap: { dataSecretName: "simulated" }, infrastructureRef };
}

function condition(type: string, status: "True" | "False", observedGeneration = 1) {
  return { type, status, reason: "Simulated", message: "", lastTransitionTime: SINCE, observedGeneration };
}

function machinesOf(machines: Any[], deployment: Any): Any[] {
  const pool = deployment.metadata.labels[LABEL_POOL];
  return machines.filter(({ metadata }) => metadata.labels[LABEL_POOL] === pool);
}

function countVersions(machines: Any[]) {
  const versions = [...new Set<string>(machines.map(({ spec }) => spec.version))];
  return versions.map((version) => ({
    version,
    replicas: machines.filter(({ spec }) => spec.version === version).length,
  }));
}

function remove(client: KubeClient, kind: Kind<KubeObject>, { metadata }: KubeObject): Promise<void> {
  return client.delete(kind, metadata.namespace, metadata.name);
}
