import { z } from "@hono/zod-openapi";
import { defineEvent } from "../events/event-types.ts";
import { idField, timestampField } from "../http/contract/fields.ts";
import { AUTHOR_TYPES, TICKET_CATEGORIES, TICKET_SEVERITIES, TICKET_STATUSES } from "./table.ts";

const ticketUpdatedData = z
  .object({
    ticket_id: idField("The ticket."),
    status: z.enum(TICKET_STATUSES).openapi({ description: "Its status." }),
    severity: z.enum(TICKET_SEVERITIES).openapi({ description: "Its severity." }),
    category: z.enum(TICKET_CATEGORIES).openapi({ description: "Its category." }),
    last_message_author_type: z.enum([...AUTHOR_TYPES, ""]).openapi({
      description: "Who wrote the message that the event is about; empty for a change of the status alone.",
    }),
    updated_at: timestampField("When it changed."),
  })
  .openapi("TicketUpdatedData", { description: "The data of a `ticket.updated` event." });

export const ticketUpdated = defineEvent({
  type: "ticket.updated",
  description: "A support ticket was created, has a new message, or has another status.",
  data: ticketUpdatedData,
  example: {
    ticket_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e15",
    status: "open",
    severity: "high",
    category: "cluster",
    last_message_author_type: "provider",
    updated_at: "2026-11-21T09:00:00.000Z",
  },
});
