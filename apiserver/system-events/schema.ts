import { z } from "@hono/zod-openapi";
import { countField, idField, textField, timestampField } from "../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { CURSOR_PATTERN } from "./position.ts";

/** 256 random bits in base64url. */
const ticketText = z
  .string()
  .max(43)
  .regex(/^[A-Za-z0-9_-]{43}$/);

const MAX_POSITION = Number.MAX_SAFE_INTEGER;
const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";
const AT = "2026-11-21T09:00:30.000Z";

const place = {
  id: countField(MAX_POSITION, "Position in the stream; also the id of the event.", 4711),
  cluster_id: idField("The cluster."),
  node_pool_id: idField("The node pool, when it is about one.").nullable(),
};

export const systemEventData = z
  .object({
    ...place,
    type: z.enum(["Normal", "Warning"]).openapi({ description: "Warning: somebody should look." }),
    reason: textField(128, "What happened, in one word for programs.", "NodeReady"),
    message: textField(1024, "What happened, in a sentence for people."),
    source: z.enum(["operator", "machine", "hypervisor"]).openapi({ description: "Who tells it." }),
    object: z
      .object({
        kind: textField(253, "Kind of the object."),
        name: textField(253, "Name of the object."),
      })
      .openapi({ description: "What it is about." }),
    count: countField(
      2_147_483_647,
      "How often it has happened so far; each rise is an event of its own.",
      1,
    ),
    first_seen_at: timestampField("When it happened for the first time."),
    last_seen_at: timestampField("When it happened last."),
  })
  .openapi("SystemEvent");

export const statusData = z
  .object({
    ...place,
    status: textField(32, "The new status.", "running"),
    previous_status: textField(32, "The status before; null at the beginning.").nullable(),
    message: textField(1024, "Why, in a sentence for people.").nullable(),
    at: timestampField("When it changed."),
  })
  .openapi("StatusEvent");

export const gapData = z
  .object({
    oldest_id: countField(MAX_POSITION, "The oldest event that is kept; 0 when there is none.", 4000),
    newest_id: countField(MAX_POSITION, "The newest one.", 4711),
  })
  .openapi("GapEvent");

export const deletedData = z.object({ cluster_id: idField("The cluster.") }).openapi("DeletedEvent");

export const byeData = z
  .object({
    reason: z
      .enum(["token_expired", "access_withdrawn", "shutting_down"])
      .openapi({ description: "Why the stream ends here." }),
  })
  .openapi("ByeEvent");

export const eventItem = z
  .union([
    z.object({
      event: z.literal("system-event").openapi({ description: "Which kind of event." }),
      data: systemEventData,
    }),
    z.object({
      event: z.literal("status").openapi({ description: "Which kind of event." }),
      data: statusData,
    }),
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

export const eventPage = pageSchema(eventItem, "SystemEventPage");

/** `last_event_id` and `ticket` are for clients that cannot send headers of their own. */
export const eventQuery = pageQuery.extend({
  cursor: z.guid().max(36).regex(CURSOR_PATTERN).optional().openapi({
    description: "The next_cursor of the page before; no other UUID is a position of this list.",
  }),
  last_event_id: z
    .string()
    .max(15)
    .regex(/^\d{1,15}$/)
    .optional()
    .openapi({
      example: "4710",
      description: "Replay what came after this event. A header Last-Event-ID comes first.",
    }),
  ticket: ticketText.optional().openapi({
    description: "A one-use ticket in place of an Authorization header, which comes first.",
  }),
});

export const ticketRecord = z
  .object({
    ticket: ticketText.openapi({ description: "Opens the stream once, as the query parameter `ticket`." }),
    expires_at: timestampField("Until when the stream has to be opened; the stream itself may last longer."),
  })
  .openapi("StreamTicket", {
    example: { ticket: "mKf9oBR2yq1gkz0pX3vQ7cWb5tJ8sLdE6hNaYuR4iTo", expires_at: AT },
  });
