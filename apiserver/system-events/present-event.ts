import type { z } from "@hono/zod-openapi";
import type { eventItem } from "./schema.ts";
import type { EventRow, StatusPayload, SystemEventPayload } from "./store.ts";

/** One event as the history lists it; the stream sends the same `event` and `data`. */
export type PresentedEvent = z.output<typeof eventItem>;

/** The wire form of one event. */
export function presentEvent(
  row: Pick<EventRow, "id" | "clusterId" | "nodePoolId" | "kind" | "payload">,
): PresentedEvent {
  const place = { id: row.id, cluster_id: row.clusterId, node_pool_id: row.nodePoolId };
  // The kind of a row says which payload it has: both are written by appendEvents alone.
  if (row.kind === "status")
    return { event: "status", data: { ...place, ...presentStatus(row.payload as StatusPayload) } };
  return {
    event: "system-event",
    data: { ...place, ...presentSystemEvent(row.payload as SystemEventPayload) },
  };
}

function presentStatus({ status, previousStatus, message, at }: StatusPayload) {
  return { status, previous_status: previousStatus, message, at };
}

function presentSystemEvent(payload: SystemEventPayload) {
  const { type, reason, message, source, object, count, firstSeenAt, lastSeenAt } = payload;
  return {
    type,
    reason,
    message,
    source,
    object,
    count,
    first_seen_at: firstSeenAt,
    last_seen_at: lastSeenAt,
  };
}
