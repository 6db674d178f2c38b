import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { defineKind, type KubeObject } from "../../../shared/kube/kind.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { secondsSince } from "../measure.ts";
import { followClusters } from "./follow.ts";

interface MachineDeployment extends KubeObject {
  status?: { readyReplicas?: number };
}

const machineDeploymentKind = defineKind<MachineDeployment>({
  group: "cluster.x-k8s.io",
  version: "v1beta2",
  kind: "MachineDeployment",
  plural: "machinedeployments",
  namespaced: true,
});

const LABEL_CAPI_CLUSTER = "cluster.x-k8s.io/cluster-name";
const GIVE_UP_MS = 60_000;

/** Simulates a change by Cluster API, and watches for the resulting Marina status. */
export interface Changer {
  /**
   * Makes Cluster API report a node of this cluster as (not) ready; resolves to the seconds from that write until the
   * Marina Cluster reports it too.
   */
  change(index: number, isReady: boolean): Promise<number>;
  close(): Promise<void>;
}

/** For the first `count` clusters of the fleet. */
export async function openChanger(kubeconfig: string, count: number): Promise<Changer> {
  const transport = createTransport({
    connection: loadConnection(kubeconfig),
    qps: 1000,
    userAgent: "bench-capi",
  });
  const client = createClient(transport);
  const deployments = (await client.list(machineDeploymentKind, { limit: count * 2 })).items.filter(
    (one, index, all) => all.findIndex((other) => keyOf(other) === keyOf(one)) === index,
  );
  const seen = await watchReadyNodes(client);
  return {
    async change(index, isReady) {
      const deployment = deployments[index];
      if (deployment === undefined) throw new Error(`there is no cluster ${index} to change`);
      const { namespace, name } = deployment.metadata;
      const key = keyOf(deployment);
      const before = seen.readyNodes(key);
      const startedAt = performance.now();
      const status = { readyReplicas: isReady ? 1 : 0 };
      const by = { fieldManager: "bench-capi", subresource: "status" as const };
      const turned = seen.wait(key, (nodes) => nodes !== before);
      await client.mergePatch(machineDeploymentKind, namespace, name, { status }, by);
      await Promise.race([turned, sleep(GIVE_UP_MS)]);
      return secondsSince(startedAt);
    },
    async close() {
      seen.stop();
      await transport.close();
    },
  };
}

function keyOf({ metadata }: MachineDeployment): string {
  return `${metadata.namespace}/${metadata.labels?.[LABEL_CAPI_CLUSTER]}`;
}

async function watchReadyNodes(client: KubeClient) {
  const ready = new Map<string, number | undefined>();
  const waiters = new Map<string, () => void>();
  const following = await followClusters(client, ({ metadata, status }) => {
    const key = `${metadata.namespace}/${metadata.name}`;
    ready.set(key, status?.nodes?.ready);
    waiters.get(key)?.();
  });
  return {
    readyNodes: (key: string) => ready.get(key),
    wait: (key: string, holds: (nodes: number | undefined) => boolean) =>
      new Promise<void>((resolve) => {
        waiters.set(key, () => {
          if (!holds(ready.get(key))) return;
          waiters.delete(key);
          resolve();
        });
      }),
    stop: () => following.stop(),
  };
}
