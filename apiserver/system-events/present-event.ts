import type { EventRow, StatusPayload, SystemEventPayload } from "./store.ts";
import type { z } from "@hono/zod-openapi";
import type { statusData, systemEventData } from "./schema.ts";

export type SystemEventData = z.output<typeof systemEventData>;
export type StatusData = z.output<typeof statusData>;

/** What the stream carries as the data of one event. */
export function presentEvent(row: EventRow): SystemEventData | StatusData {
  const place = { id: row.id, cluster_id: row.clusterId, node_pool_id: row.nodePoolId };
  return row.kind === "status"
    ? { ...place, ...presentStatus(row.payload as StatusPayload) }
    : { ...place, ...presentSystemEvent(row.payload as SystemEventPayload) };
}

function presentStatus({ status, previousStatus, message, at }: StatusPayload) {
  return { status, previous_status: previousStatus, message, at };
}

function presentSystemEvent(payload: SystemEventPayload) {
  const { type, reason, message, source, object, count, firstSeenAt, lastSeenAt } = payload;
  return { type, reason, message, source, object, count, first_seen_at: firstSeenAt, last_seen_at: lastSeenAt };
}
