import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import { remainingMs } from "../../shared/controller/time.ts";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";

/** A restore may bring Cluster API's objects before ours. */
const RESTORED_WITHIN_MS = 60_000;

/** The Events about a Cluster API cluster whose Cluster is deleted, and when to check again. */
export interface WithoutCluster {
  events: RecordedEvent[];
  requeueAfterMs?: number;
}

/**
 * A Warning about a Cluster API cluster that Marina made and that has no Cluster any more: it runs on, and its tenant does not
 * see it. Nothing about one that is being deleted, that Marina did not make, or that is younger than a minute.
 */
export function reportWithoutCluster(capi: CapiCluster | undefined, now: Date): WithoutCluster {
  const id = capi?.metadata.labels?.[LABEL_ID];
  if (capi === undefined || id === undefined || capi.metadata.deletionTimestamp !== undefined)
    return { events: [] };
  const requeueAfterMs = remainingMs(capi.metadata.creationTimestamp, RESTORED_WITHIN_MS, now);
  if (requeueAfterMs !== undefined) return { events: [], requeueAfterMs };
  const { namespace, name } = capi.metadata;
  const note = `The Cluster ${namespace}/${name} of Marina is gone, and this cluster runs on unseen. Restore the Cluster from a backup, or delete this cluster.`;
  const event: RecordedEvent = {
    regarding: referTo(capiClusterKind, capi.metadata),
    type: "Warning",
    reason: "ClusterMissing",
    action: "CheckHealth",
    note,
    labels: { [LABEL_SOURCE]: "operator", [LABEL_CLUSTER_ID]: id },
  };
  return { events: [event] };
}
