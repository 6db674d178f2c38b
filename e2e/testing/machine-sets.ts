import postgres from "postgres";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { toKey } from "../../shared/kube/object.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, machineKind } from "./custom-resources.ts";

const LABEL_CAPI_CLUSTER = "cluster.x-k8s.io/cluster-name";
const LABEL_CAPI_POOL = "topology.cluster.x-k8s.io/deployment-name";

/** Machines of node pools that are nodes, by uid: what runs, what Marina shows, and what the tenant pays for. */
interface MachineSets {
  running: string[];
  recorded: string[];
  metered: string[];
}

type Place = Pick<StackInfo, "kubeconfig" | "databaseUrl">;

async function readMachineSets({ kubeconfig, databaseUrl }: Place): Promise<MachineSets> {
  const transport = createTransport({ connection: loadConnection(kubeconfig) });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const client = createClient(transport);
    const clusters = await client.listAll(capiClusterKind);
    const ours = new Set(
      clusters
        .filter(({ metadata }) => metadata.labels?.[LABEL_ID] !== undefined)
        .map(({ metadata }) => toKey(metadata.namespace, metadata.name)),
    );
    const machines = (await client.listAll(machineKind)).filter(
      ({ metadata: { namespace, labels }, status }) => {
        const cluster = toKey(namespace, labels?.[LABEL_CAPI_CLUSTER] ?? "");
        return labels?.[LABEL_CAPI_POOL] !== undefined && status?.nodeRef !== undefined && ours.has(cluster);
      },
    );
    const pools = await client.listAll(nodePoolKind);
    const recorded = pools.flatMap(({ status }) => status?.machines ?? []);
    const metered = await sql<{ subject: string }[]>`
      select distinct subject from usage_intervals where ended_at is null and node_pool_id is not null`;
    return {
      running: machines.map(({ metadata }) => metadata.uid ?? "").toSorted(),
      recorded: recorded.flatMap(({ uid, node }) => (node === undefined ? [] : [uid])).toSorted(),
      metered: metered.map(({ subject }) => subject).toSorted(),
    };
  } finally {
    await sql.end();
    await transport.close();
  }
}

/** Throws unless all three sets become the same: no machine without a bill, no bill without a machine. */
export async function requireEveryMachineMetered(place: Place): Promise<MachineSets> {
  const isSame = ({ running, recorded, metered }: MachineSets) =>
    String(running) === String(recorded) && String(running) === String(metered);
  return waitFor(
    "the machines that run, are recorded and are metered to be the same",
    async () => {
      const sets = await readMachineSets(place);
      return isSame(sets) ? sets : Promise.reject(new Error(describeDifference(sets)));
    },
    { intervalMs: 1_000 },
  );
}

function describeDifference({ running, recorded, metered }: MachineSets): string {
  const without = (some: string[], others: string[]) =>
    some.filter((uid) => !others.includes(uid)).join(", ");
  return [
    `run and are not recorded: ${without(running, recorded)}`,
    `are recorded and do not run: ${without(recorded, running)}`,
    `run and are not metered: ${without(running, metered)}`,
    `are metered and do not run: ${without(metered, running)}`,
  ].join("; ");
}
