import { z } from "@hono/zod-openapi";
import type { ResponseSpec } from "../http/contract/operation.ts";
import { byeRecord, deletedRecord, gapRecord } from "./schema.ts";
import type { SseMessage } from "./stream/sse.ts";

const CLUSTER_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";
const AT = "2026-11-21T09:00:30.000Z";
const PLACE = { id: 4711, cluster_id: CLUSTER_ID, node_pool_id: null };
/** A message of 1,024 characters, each escaped as \uXXXX, and the other fields. */
const MAX_DATA_LENGTH = 16_384;

/**
 * Every kind of message: the schema of its `data`, whether a stream can resume after it ("mostly": not after the one
 * that it begins with), and an example.
 */
const MESSAGES: readonly {
  schema: string;
  summary: string;
  isResumable: boolean | "mostly";
  example: SseMessage;
}[] = [
  {
    schema: "SystemEvent",
    summary: "An event of the cluster.",
    isResumable: true,
    example: {
      event: "system-event",
      id: 4711,
      data: {
        ...PLACE,
        type: "Normal",
        reason: "SuccessfulSetNodeRef",
        message: "Machine first-workers-x2b5q: it has joined the cluster as a node",
        source: "machine",
        object: { kind: "Machine", name: "first-workers-x2b5q" },
        count: 1,
        first_seen_at: AT,
        last_seen_at: AT,
      },
    },
  },
  {
    schema: "StatusEvent",
    summary:
      "The status of the cluster or of a node pool changed; without an id, the present state of the cluster, with which a " +
      "stream begins.",
    isResumable: "mostly",
    example: {
      event: "status",
      id: 4711,
      data: { ...PLACE, status: "running", previous_status: "provisioning", message: null, at: AT },
    },
  },
  {
    schema: "GapEvent",
    summary: "Some events after Last-Event-ID are no longer available: read the record again.",
    isResumable: false,
    example: { event: "gap", data: { oldest_id: 4000, newest_id: 4711 } },
  },
  {
    schema: "DeletedEvent",
    summary: "The cluster was deleted; the stream ends for good.",
    isResumable: false,
    example: { event: "deleted", data: { cluster_id: CLUSTER_ID } },
  },
  {
    schema: "ByeEvent",
    summary: "The stream ends; reconnect with Last-Event-ID.",
    isResumable: false,
    example: { event: "bye", data: { reason: "token_expired" } },
  },
];

/**
 * The stream in the OpenAPI document. The schema is that of one event, as OpenAPI 3.2 describes text/event-stream:
 * `data` is a string, and `contentSchema` is the schema of the JSON in it.
 */
export function describeStream(): NonNullable<ResponseSpec["stream"]> {
  const [first, second, ...others] = MESSAGES.map(({ schema, summary, isResumable, example }) => {
    const data = z
      .string()
      .max(MAX_DATA_LENGTH)
      .openapi({
        description: summary,
        contentMediaType: "application/json",
        contentSchema: { $ref: `#/components/schemas/${schema}` },
      } as object);
    const event = z.literal(example.event).openapi({ description: "The name of the event." });
    const id = z.string().max(16).openapi({ description: "The id to send as Last-Event-ID." });
    const ids = { true: { id }, false: {}, mostly: { id: id.optional() } };
    const fields = { event, ...ids[`${isResumable}`], data };
    return z.object(fields).openapi(`${schema}Message`);
  });
  if (first === undefined || second === undefined) throw new Error("a union of fewer than two");
  return {
    mediaType: "text/event-stream",
    schema: z.discriminatedUnion("event", [first, second, ...others]).openapi("StreamMessage", {
      description:
        "One event of the stream; comments (`: ping`) keep an idle connection open. A stream without Last-Event-ID " +
        "starts with the id to resume after, so that a client that reconnects before its first event misses none.",
    }),
    examples: Object.fromEntries(
      MESSAGES.map(({ summary, example }) => [example.event, { summary, value: toText(example) }]),
    ),
    schemas: { GapEvent: gapRecord, DeletedEvent: deletedRecord, ByeEvent: byeRecord },
  };
}

/** A message as its fields are sent: all of them are text. */
function toText({ event, id, data }: SseMessage) {
  return { event, ...(id === undefined ? {} : { id: String(id) }), data: JSON.stringify(data) };
}
