import { z } from "@hono/zod-openapi";
import { pageQuery, pageSchema } from "../http/page.ts";

const timestamp = z.iso.datetime();
const place = {
  id: z.int().openapi({ description: "Position in the stream; also the id of the event." }),
  cluster_id: z.guid(),
  node_pool_id: z.guid().nullable(),
};

export const systemEventData = z
  .object({
    ...place,
    type: z.enum(["Normal", "Warning"]),
    reason: z.string(),
    message: z.string(),
    source: z.enum(["operator", "machine", "hypervisor"]),
    object: z.object({ kind: z.string(), name: z.string() }),
    count: z
      .int()
      .openapi({ description: "How often it has happened so far; each rise is an event of its own." }),
    first_seen_at: timestamp,
    last_seen_at: timestamp,
  })
  .openapi("SystemEvent");

export const statusData = z
  .object({
    ...place,
    status: z.string(),
    previous_status: z.string().nullable(),
    message: z.string().nullable(),
    at: timestamp,
  })
  .openapi("StatusEvent");

export const eventItem = z.union([
  z.object({ event: z.literal("system-event"), data: systemEventData }),
  z.object({ event: z.literal("status"), data: statusData }),
]);

export const eventPage = pageSchema(eventItem, "SystemEventPage");

/** `last_event_id` is for clients that cannot send the header of that name. */
export const eventQuery = pageQuery.extend({
  last_event_id: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .openapi({
      description: "Replay what came after this event.",
    }),
});
