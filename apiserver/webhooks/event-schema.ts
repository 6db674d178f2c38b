import { z } from "@hono/zod-openapi";
import { EVENT_TYPES } from "../events/event-types.ts";
import { textField } from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import { bodyExampleOf, EVENT_CATALOG } from "./catalog-schema.ts";

const MAX_FIELDS = 64;
const EXAMPLE_TYPE = "cluster.ready";

const eventTypeRecord = z
  .object({
    type: z.enum(EVENT_TYPES).openapi({ description: "The type, as a webhook subscribes to it." }),
    description: textField(256, "When such an event is sent."),
    body_schema: z.record(z.string(), z.unknown()).openapi({
      description: "The JSON Schema (draft 2020-12) of the body. Further fields may be added to it.",
      maxProperties: MAX_FIELDS,
    }),
    body_example: z.record(z.string(), z.unknown()).openapi({
      description: "A body of this type.",
      maxProperties: MAX_FIELDS,
    }),
  })
  .openapi("EventType", {
    example: {
      type: EXAMPLE_TYPE,
      description: EVENT_CATALOG[EXAMPLE_TYPE].description,
      body_schema: { type: "object" },
      body_example: bodyExampleOf(EXAMPLE_TYPE),
    },
  });

export const eventTypePage = pageSchema(eventTypeRecord, "EventTypePage");
