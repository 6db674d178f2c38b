import { clusterKind } from "../../../shared/crd/cluster.ts";
import { idOf } from "../../../shared/crd/identity.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { Deps } from "../../deps.ts";
import { isRepeatable } from "../../http/idempotency/store.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { abandonStaleCreate, completeCreate } from "./create-cluster.ts";
import type { NewCluster } from "./new-cluster.ts";
import { listStaleClusterIntents, purgeIntents } from "./store.ts";
import type { ClusterIntent } from "./table.ts";

const EVERY_MS = 15_000;
/** No request takes this long: it has ended, or its process has. */
const STALE_SECONDS = 60;
/** A client may repeat its request by its Idempotency-Key until then; afterwards what it left is deleted. */
const ABANDON_SECONDS = 600;
/** A create without a key cannot be repeated; only its own process, which may be slow, can still complete it. */
const ABANDON_UNKEYED_SECONDS = 120;
const BATCH_SIZE = 50;

const PURGE_EVERY_MS = 3_600_000;

/** The jobs that complete or undo creates which a crash or an outage left unfinished, and purge old intents. */
export function clusterJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "cluster-intents", everyMs: EVERY_MS, run: (signal) => sweepIntents(deps, signal) },
    { name: "purge-cluster-intents", everyMs: PURGE_EVERY_MS, run: () => purgeIntents(deps.db) },
  ];
}

async function sweepIntents(deps: Deps, signal: AbortSignal): Promise<void> {
  for (const intent of await listStaleClusterIntents(deps.db, STALE_SECONDS, BATCH_SIZE)) {
    if (signal.aborted) return;
    await sweepIntent(deps, intent);
  }
}

/** A create whose Cluster exists is completed; one without is undone when no request can resume it any more. */
async function sweepIntent(deps: Deps, { request, origin }: ClusterIntent): Promise<void> {
  const { namespace, objectName, clusterId } = request;
  const cluster = await deps.kube.get(clusterKind, namespace, objectName);
  if (cluster !== undefined && idOf(cluster) === clusterId) {
    await completeCreate(deps, origin, request, { cluster, nodePools: await readNodePools(deps, request) });
    deps.log.info({ clusterId }, "completed a create that was left unfinished");
    return;
  }
  const isKeyed = await isRepeatable(deps.db, clusterId);
  if (await abandonStaleCreate(deps, request, isKeyed ? ABANDON_SECONDS : ABANDON_UNKEYED_SECONDS))
    deps.log.info({ clusterId }, "undid a create that was left unfinished");
}

async function readNodePools({ kube }: Deps, { namespace, nodePools }: NewCluster): Promise<NodePool[]> {
  const found = await Promise.all(
    nodePools.map(({ objectName }) => kube.get(nodePoolKind, namespace, objectName)),
  );
  return found.flatMap((pool, index) => {
    if (pool === undefined || idOf(pool) !== nodePools[index]?.id) return [];
    return [pool];
  });
}
