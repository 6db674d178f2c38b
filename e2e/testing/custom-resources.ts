import { randomUUID } from "node:crypto";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { type Event, eventKind, namespaceKind } from "../../shared/kube/core-kinds.ts";
import { defineKind, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { followHistory, type History } from "./history.ts";
import { rememberOrganization } from "./left-clusters.ts";

/** A person with kubectl or a pipeline: custom resources in one organization, no REST. */
export interface Engineer {
  client: KubeClient;
  namespace: string;
  createCluster(name: string, spec: Partial<Cluster["spec"]>): Promise<Cluster>;
  createPool(name: string, clusterName: string, spec: Partial<NodePool["spec"]>): Promise<NodePool>;
  getCluster(name: string): Promise<Cluster>;
  getPool(name: string): Promise<NodePool>;
  patchCluster(name: string, patch: object): Promise<Cluster>;
  patchPool(name: string, patch: object): Promise<NodePool>;
  /** Every state of the clusters and pools. */
  history: History;
  /** The Events about one object, oldest first. */
  listEvents(name: string): Promise<Event[]>;
  /** Rejects when a status broke a rule of history.ts. */
  close(): Promise<void>;
}

const BY_HAND = { fieldManager: "engineer" };

export const machineKind = capiKind<
  KubeObject & {
    spec: { version?: string; providerID?: string; deletion?: { nodeDrainTimeoutSeconds?: number } };
    status?: { nodeRef?: { name: string }; conditions?: { type: string }[] };
  }
>("Machine", "machines");
export const clusterClassKind = capiKind<KubeObject & { spec: unknown }>("ClusterClass", "clusterclasses");
export const machineHealthCheckKind = capiKind<KubeObject>("MachineHealthCheck", "machinehealthchecks");
export const machineSetKind = capiKind<KubeObject>("MachineSet", "machinesets");
export const machineDeploymentKind = capiKind<
  KubeObject & {
    spec: {
      replicas?: number;
      template?: { spec?: { deletion?: { nodeDrainTimeoutSeconds?: number } } };
    };
    status?: { readyReplicas?: number };
  }
>("MachineDeployment", "machinedeployments");
// biome-ignore lint/suspicious/noExplicitAny: a story reads and writes whatever Cluster API field it needs
export const capiClusterKind = capiKind<any>("Cluster", "clusters");

function capiKind<T extends KubeObject>(kind: string, plural: string): Kind<T> {
  return defineKind<T>({ group: "cluster.x-k8s.io", version: "v1beta2", kind, plural, namespaced: true });
}

/**
 * Opens a new organization, or one that was created by REST. `tolerated`: a violation of the rules of history.ts that the
 * story causes itself.
 */
export async function createEngineer(
  stack: Pick<StackInfo, "kubeconfig">,
  known?: string,
  { tolerated }: { tolerated?: RegExp } = {},
): Promise<Engineer> {
  const transport = createTransport({ connection: loadConnection(stack.kubeconfig) });
  const client = createClient(transport);
  const organization = known ?? randomUUID();
  const namespace = `org-${organization}`;
  const metadata = { name: namespace, labels: { [LABEL_ORG_ID]: organization } };
  if (known === undefined) await client.create(namespaceKind, { metadata }, BY_HAND);
  rememberOrganization(organization);
  await waitFor("the namespace", () => client.get(namespaceKind, undefined, namespace));
  const history = await followHistory(client, namespace);

  async function get<T>(kind: Kind<T>, name: string): Promise<T> {
    const object = await client.get(kind, namespace, name);
    if (object === undefined) throw new Error(`there is no ${kind.kind} ${namespace}/${name}`);
    return object;
  }

  return {
    client,
    namespace,
    history,
    createCluster: (name, spec) =>
      client.create(
        clusterKind,
        { metadata: { name, namespace }, spec: { version: "1.34", ...spec } },
        BY_HAND,
      ),
    createPool: (name, clusterName, spec) =>
      client.create(
        nodePoolKind,
        { metadata: { name, namespace }, spec: { clusterName, ...SMALL_POOL, ...spec } },
        BY_HAND,
      ),
    getCluster: (name) => get(clusterKind, name),
    getPool: (name) => get(nodePoolKind, name),
    patchCluster: (name, patch) => client.mergePatch(clusterKind, namespace, name, patch, BY_HAND),
    patchPool: (name, patch) => client.mergePatch(nodePoolKind, namespace, name, patch, BY_HAND),
    async listEvents(name) {
      const events = await client.listAll(eventKind, { namespace });
      return events
        .filter(
          ({ regarding }) => regarding?.name === name && regarding.apiVersion?.startsWith("cloud.marina.dev"),
        )
        .sort((left, right) => ((left.eventTime ?? "") < (right.eventTime ?? "") ? -1 : 1));
    },
    async close() {
      const lies = history.stop().filter((lie) => tolerated === undefined || !tolerated.test(lie));
      await transport.close();
      if (lies.length > 0) throw new Error(lies.join("\n"));
    },
  };
}

const SMALL_POOL = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 10, desiredNodes: 1 };

/** "True", "False" or "Unknown"; undefined when there is no such condition. */
export function statusOf(object: Cluster | NodePool, type: string): string | undefined {
  return conditionOf(object, type)?.status;
}

export function conditionOf(object: Cluster | NodePool, type: string) {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/** Waits until a cluster is ready, with all its nodes. */
export function waitForCluster(engineer: Engineer, name: string): Promise<Cluster> {
  return waitFor(`the cluster ${name} to be ready`, async () => {
    const cluster = await engineer.getCluster(name);
    const { phase, nodes, message } = cluster.status ?? {};
    if (phase === "Ready" && nodes?.ready === nodes?.total) return cluster;
    throw new Error(`${phase}, nodes ${nodes?.ready} of ${nodes?.total}: ${message}`);
  });
}

/** Until there are so many Events of this reason about one object. */
export function waitForEvents(
  engineer: Engineer,
  name: string,
  reason: string,
  count: number,
): Promise<unknown> {
  return waitFor(`${count} Events ${reason} about ${name}`, async () => {
    const events = await engineer.listEvents(name);
    return events.filter((event) => event.reason === reason).length >= count;
  });
}

/** Samples continuously until `stop`, which takes the last sample; returns the samples without repetitions. */
export function sample<T>(look: () => Promise<T>, everyMs = 300): { stop(): Promise<T[]> } {
  let stopped = false;
  const seen: T[] = [];
  const running = (async () => {
    for (;;) {
      const isLast = stopped;
      const value = await look();
      if (JSON.stringify(seen.at(-1)) !== JSON.stringify(value)) seen.push(value);
      if (isLast) return seen;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}
