import { type ClusterAccess, clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { objectKey, toKey } from "../../../shared/kube/object.ts";
import { createReflector } from "../../../shared/kube/reflector.ts";
import { createStore, type Store } from "../../../shared/kube/store.ts";
import type { Deps } from "../../deps.ts";
import { createBatchQueue } from "../../jobs/batch-queue.ts";
import { runAsLeader } from "../../jobs/leader.ts";
import { recordGone, recordObservation } from "./record.ts";
import { listUnended } from "./store.ts";

const BATCH_SIZE = 20;

/** An access as it is in the cache, one that is gone, or the search for those that ended while nobody watched. */
type Work = { key: string } | { goneUid: string } | { search: true };

/**
 * Writes what happens to accesses in the Kubernetes API to the audit log: one process of all replicas watches them.
 * Resolves when the signal has aborted and the last write is done.
 */
export function startAccessObserver(deps: Deps, signal: AbortSignal): { stopped: Promise<void> } {
  const { sql, log } = deps;
  return {
    stopped: runAsLeader({ sql, log, name: "access-observer", signal }, (leading) => observe(deps, leading)),
  };
}

async function observe(deps: Deps, signal: AbortSignal): Promise<void> {
  const { kube: client, log, kubeMetrics: metrics } = deps;
  const store = createStore<ClusterAccess>();
  const queue = createBatchQueue<Work>({
    name: "access-observer",
    batchSize: BATCH_SIZE,
    keyOf: (work) =>
      "key" in work ? `access ${work.key}` : "goneUid" in work ? `gone ${work.goneUid}` : "search",
    run: async (batch) => {
      for (const work of batch) await carryOut(deps, store, work);
    },
    log,
    signal,
  });
  createReflector({
    client,
    log,
    metrics,
    kind: clusterAccessKind,
    store,
    keepManagedFields: true,
    onChange: ({ type, object }) =>
      queue.add(type === "deleted" ? { goneUid: object.metadata.uid ?? "" } : { key: objectKey(object) }),
    onRelist: () => queue.add({ search: true }),
  }).start(signal);
  await queue.stopped;
}

async function carryOut(deps: Deps, store: Store<ClusterAccess>, work: Work): Promise<void> {
  if ("goneUid" in work) return recordGone(deps, work.goneUid);
  if ("search" in work) return recordMissing(deps, store);
  const access = store.get(work.key);
  if (access !== undefined) await recordObservation(deps, access);
}

/** Each is confirmed by a live read, since it may have been created after the list in which it is missing. */
async function recordMissing(deps: Deps, store: Store<ClusterAccess>): Promise<void> {
  for (const { uid, namespace, name } of await listUnended(deps.db)) {
    if (store.get(toKey(namespace, name))?.metadata.uid === uid) continue;
    const live = await deps.kube.get(clusterAccessKind, namespace, name);
    if (live?.metadata.uid !== uid) await recordGone(deps, uid);
  }
}
