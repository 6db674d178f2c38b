import { z } from "@hono/zod-openapi";
import { countField, idField, textField, timestampField } from "../http/contract/fields.ts";
import { pageSchema, positionPageQuery } from "../http/contract/page.ts";

const TICKET_MESSAGE = "must be a ticket as it was issued";

/** 256 random bits in base64url. */
const ticketText = z
  .string()
  .max(43, { error: TICKET_MESSAGE })
  .regex(/^[A-Za-z0-9_-]{43}$/, { error: TICKET_MESSAGE });

const EVENT_ID_MESSAGE = "must be the id of an event, as 4710";
const MAX_POSITION = Number.MAX_SAFE_INTEGER;
const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";
const AT = "2026-11-21T09:00:30.000Z";

const place = {
  id: countField(
    MAX_POSITION,
    "Id of the event, after which a stream resumes. The state with which a stream begins has the id up to which it holds the events.",
    4711,
  ),
  cluster_id: idField("The cluster."),
  node_pool_id: idField("The node pool, when the event concerns one.").nullable(),
};

export const systemEventRecord = z
  .object({
    ...place,
    type: z.enum(["Normal", "Warning"]).openapi({ description: "Warning: needs attention." }),
    reason: textField(128, "Why, in one word for programs. More may come.", "SuccessfulSetNodeRef"),
    message: textField(1024, "Human-readable message."),
    source: z
      .enum(["operator", "machine", "hypervisor"])
      .openapi({ description: "The component that reported it." }),
    object: z
      .object({
        kind: textField(253, "Kind of the object."),
        name: textField(253, "Its name, of a cluster or node pool that of its record."),
      })
      .openapi("EventObject", { description: "The object concerned." }),
    count: countField(2_147_483_647, "How often it has occurred so far; each increase is another event.", 1),
    first_seen_at: timestampField("When it first occurred."),
    last_seen_at: timestampField("When it last occurred."),
  })
  .openapi("SystemEvent");

export const statusRecord = z
  .object({
    ...place,
    status: textField(32, "The new status.", "running"),
    previous_status: textField(
      32,
      "The previous status; null for the first one, and in the state that a stream begins with.",
    ).nullable(),
    message: textField(1024, "Human-readable explanation.").nullable(),
    at: timestampField("When it changed; in the state that a stream begins with, when that was read."),
  })
  .openapi("StatusEvent");

export const gapRecord = z
  .object({
    oldest_id: countField(MAX_POSITION, "The oldest available event; 0 when there is none.", 4000),
    newest_id: countField(MAX_POSITION, "The newest event.", 4711),
  })
  .openapi("GapEvent");

export const deletedRecord = z.object({ cluster_id: idField("The cluster.") }).openapi("DeletedEvent");

export const byeRecord = z
  .object({
    reason: z
      .enum(["token_expired", "access_withdrawn", "shutting_down"])
      .openapi({ description: "Why the stream ends." }),
  })
  .openapi("ByeEvent");

export const eventRecord = z
  .discriminatedUnion("event", [
    z
      .object({
        event: z.literal("system-event").openapi({ description: "The kind of event." }),
        data: systemEventRecord,
      })
      .openapi("StreamedSystemEvent"),
    z
      .object({
        event: z.literal("status").openapi({ description: "The kind of event." }),
        data: statusRecord,
      })
      .openapi("StreamedStatusEvent"),
  ])
  .openapi("StreamedEvent", {
    example: {
      event: "status",
      data: {
        id: 4711,
        cluster_id: ID,
        node_pool_id: null,
        status: "running",
        previous_status: "provisioning",
        message: null,
        at: AT,
      },
    },
  });

export const eventPage = pageSchema(eventRecord, "SystemEventPage");

/** `last_event_id` and `ticket` are for clients that cannot set request headers. */
export const eventQuery = positionPageQuery.extend({
  last_event_id: z
    .string()
    .max(15, { error: EVENT_ID_MESSAGE })
    .regex(/^\d{1,15}$/, { error: EVENT_ID_MESSAGE })
    .optional()
    .openapi({
      example: "4710",
      description: "Resume after this event. A Last-Event-ID header takes precedence.",
    }),
  ticket: ticketText.optional().openapi({
    description: "A single-use ticket instead of an Authorization header, which takes precedence.",
  }),
});

export const streamTicketRecord = z
  .object({
    ticket: ticketText.openapi({ description: "Opens the stream once, as the query parameter `ticket`." }),
    expires_at: timestampField("Until when the stream must be opened; the stream itself can last longer."),
  })
  .openapi("StreamTicket", {
    example: { ticket: "mKf9oBR2yq1gkz0pX3vQ7cWb5tJ8sLdE6hNaYuR4iTo", expires_at: AT },
  });
