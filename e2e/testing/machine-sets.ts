import postgres from "postgres";
import { LABEL_ID, UNRECORDED_CONFIG_MAP } from "../../shared/crd/names.ts";
import { isBilled, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { readUnrecorded } from "../../shared/crd/published-config.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { toKey } from "../../shared/kube/object.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { PLATFORM_NAMESPACE } from "../platform/stack/marina.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, machineKind } from "./custom-resources.ts";

const LABEL_CAPI_CLUSTER = "cluster.x-k8s.io/cluster-name";
const LABEL_CAPI_POOL = "topology.cluster.x-k8s.io/deployment-name";

/**
 * Machines of node pools whose infrastructure exists, by uid: what runs, what Marina shows, or publishes of what runs in no record, and what
 * the tenant pays for.
 */
interface MachineSets {
  running: string[];
  recorded: string[];
  metered: string[];
}

type Place = Pick<StackInfo, "kubeconfig" | "databaseUrl">;

/** For one organization, or for all. */
async function readMachineSets({ kubeconfig, databaseUrl }: Place, orgID?: string): Promise<MachineSets> {
  const scope = orgID === undefined ? {} : { namespace: `org-${orgID}` };
  const transport = createTransport({ connection: loadConnection(kubeconfig) });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const client = createClient(transport);
    const clusters = await client.listAll(capiClusterKind, scope);
    const ours = new Set(
      clusters
        .filter(({ metadata }) => metadata.labels?.[LABEL_ID] !== undefined)
        .map(({ metadata }) => toKey(metadata.namespace, metadata.name)),
    );
    const machines = (await client.listAll(machineKind, scope)).filter(
      ({ metadata: { namespace, labels }, spec, status }) => {
        const cluster = toKey(namespace, labels?.[LABEL_CAPI_CLUSTER] ?? "");
        const runs = spec.providerID !== undefined || status?.nodeRef !== undefined;
        return labels?.[LABEL_CAPI_POOL] !== undefined && runs && ours.has(cluster);
      },
    );
    const running = machines.map(({ metadata }) => metadata.uid ?? "").toSorted();
    const pools = await client.listAll(nodePoolKind, scope);
    const listed = pools.flatMap(({ status }) => status?.machines ?? []);
    const map = await client.get(configMapKind, PLATFORM_NAMESPACE, UNRECORDED_CONFIG_MAP);
    const published = readUnrecorded(map).filter(({ goneAt }) => goneAt === undefined);
    const recorded = [
      ...listed.filter(isBilled).map(({ uid }) => uid),
      ...published.flatMap(({ subject }) => (running.includes(subject) ? [subject] : [])),
    ];
    const metered = await sql<{ subject: string }[]>`
      select distinct subject from usage_intervals where ended_at is null and node_pool_id is not null
        and (${orgID ?? null}::uuid is null or organization_id = ${orgID ?? null}::uuid)`;
    return {
      running,
      recorded: recorded.toSorted(),
      metered: metered.map(({ subject }) => subject).toSorted(),
    };
  } finally {
    await sql.end();
    await transport.close();
  }
}

/**
 * Throws unless all three sets become the same: no machine without a bill, no bill without a machine. Of one organization where
 * one is named.
 */
export async function requireEveryMachineMetered(place: Place, orgID?: string): Promise<MachineSets> {
  const isSame = ({ running, recorded, metered }: MachineSets) =>
    String(running) === String(recorded) && String(running) === String(metered);
  return waitFor(
    "the machines that run, are recorded and are metered to be the same",
    async () => {
      const sets = await readMachineSets(place, orgID);
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
