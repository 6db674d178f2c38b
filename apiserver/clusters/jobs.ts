import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Deps } from "../deps.ts";
import { isRepeatable } from "../http/idempotency/store.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { abandonStaleCreate, settleCreate } from "./create.ts";
import { findStaleIntents, purgeIntents } from "./intents.ts";
import type { NewCluster } from "./new-cluster.ts";
import type { ClusterIntent } from "./table.ts";

const EVERY_MS = 15_000;
/** No request lives this long: it would have answered, or its process is gone. */
const STALE_SECONDS = 60;
/** A client may repeat its request by its key until then; afterwards what it left is removed. */
const ABANDON_SECONDS = 600;
/** One that came without a key waits for nobody but its own process, which may be slow. */
const ABANDON_UNKEYED_SECONDS = 120;
const BATCH = 50;

const PURGE_EVERY_MS = 3_600_000;

/**
 * The jobs that settle creates which a crash or an unreachable Kubernetes API left half done, and forget those that
 * were settled long ago.
 */
export function clusterJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "cluster-intents", everyMs: EVERY_MS, run: (signal) => sweepIntents(deps, signal) },
    { name: "purge-cluster-intents", everyMs: PURGE_EVERY_MS, run: () => purgeIntents(deps.db) },
  ];
}

async function sweepIntents(deps: Deps, signal: AbortSignal): Promise<void> {
  for (const intent of await findStaleIntents(deps.db, STALE_SECONDS, BATCH)) {
    if (signal.aborted) return;
    await sweepIntent(deps, intent);
  }
}

/**
 * A create whose Cluster exists was committed and is completed. One that has none is given up in time: soon when it
 * came without a key, for nobody can repeat it, and its name is waited for.
 */
async function sweepIntent(deps: Deps, { wish, origin }: ClusterIntent): Promise<void> {
  const cluster = await deps.kube.get(clusterKind, wish.namespace, wish.objectName);
  if (cluster !== undefined && cluster.metadata.labels?.[LABEL_ID] === wish.clusterId) {
    await settleCreate(deps, origin, wish, { cluster, nodePools: await readNodePools(deps, wish) });
    deps.log.info({ clusterId: wish.clusterId }, "completed a create that was left half done");
    return;
  }
  const patience = (await isRepeatable(deps.db, wish.clusterId)) ? ABANDON_SECONDS : ABANDON_UNKEYED_SECONDS;
  if (await abandonStaleCreate(deps, wish, patience))
    deps.log.info({ clusterId: wish.clusterId }, "gave up a create that was left half done");
}

async function readNodePools({ kube }: Deps, wish: NewCluster): Promise<NodePool[]> {
  const found = await Promise.all(
    wish.nodePools.map(({ objectName }) => kube.get(nodePoolKind, wish.namespace, objectName)),
  );
  return found.flatMap((pool, index) => {
    if (pool === undefined || pool.metadata.labels?.[LABEL_ID] !== wish.nodePools[index]?.id) return [];
    return [pool];
  });
}
