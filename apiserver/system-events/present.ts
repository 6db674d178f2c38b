import type { z } from "@hono/zod-openapi";
import { toRestWords } from "../../shared/crd/rest-words.ts";
import type { FeedEntry } from "../events/feed.ts";
import type { StatusPayload, SystemEventPayload } from "../events/table.ts";
import { type ClusterState, statusMessageOf } from "../resources/project/index.ts";
import type { eventRecord } from "./schema.ts";

/** One event of the history; the stream sends the same `event` and `data`. */
export type PresentedEvent = z.output<typeof eventRecord>;

/** The wire form of one event. */
export function presentEvent(row: FeedEntry): PresentedEvent {
  const subject = { id: row.id, cluster_id: row.clusterId, node_pool_id: row.nodePoolId };
  // The kind of a row determines its payload: both are written only by appendFeedEvents.
  if (row.kind === "status")
    return { event: "status", data: { ...subject, ...presentStatus(row.payload as StatusPayload) } };
  return {
    event: "system-event",
    data: { ...subject, ...presentSystemEvent(row.payload as SystemEventPayload) },
  };
}

function presentStatus({ status, previousStatus, message, at }: StatusPayload) {
  return {
    status,
    previous_status: previousStatus,
    message: message === null ? null : toRestWords(message),
    at,
  };
}

/** The present state of a cluster, which holds the events up to `id` at least. */
export function presentState(
  { id: clusterId, status, object }: ClusterState,
  { id, at }: { id: number; at: Date },
): PresentedEvent {
  const state = presentStatus({
    status,
    previousStatus: null,
    message: statusMessageOf(object) ?? null,
    at: at.toISOString(),
  });
  return { event: "status", data: { id, cluster_id: clusterId, node_pool_id: null, ...state } };
}

function presentSystemEvent(payload: SystemEventPayload) {
  const { type, reason, message, source, object, count, firstSeenAt, lastSeenAt } = payload;
  return {
    type,
    reason,
    message: toRestWords(message),
    source,
    object,
    count,
    first_seen_at: firstSeenAt,
    last_seen_at: lastSeenAt,
  };
}
