import { z } from "@hono/zod-openapi";
import { addRoute } from "../http/contract/add-route.ts";
import { textField } from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import { positionPageQuery, toPositionPage } from "../http/contract/position-page.ts";
import type { Router } from "../http/contract/router.ts";
import { bodyExampleOf, EVENT_CATALOG, EVENT_TYPES } from "../outbox/catalog.ts";
import { describeEventTypes } from "./event-schemas.ts";

const MAX_FIELDS = 64;
const EXAMPLE_TYPE = "cluster.ready";

const eventTypeRecord = z
  .object({
    type: z.enum(EVENT_TYPES).openapi({ description: "The type, as a webhook subscribes to it." }),
    description: textField(256, "When such an event is sent."),
    schema: z.record(z.string(), z.unknown()).openapi({
      description: "The JSON Schema (draft 2020-12) of the body. Further fields may be added to it.",
      maxProperties: MAX_FIELDS,
    }),
    example: z.record(z.string(), z.unknown()).openapi({
      description: "A body of this type.",
      maxProperties: MAX_FIELDS,
    }),
  })
  .openapi("EventType", {
    example: {
      type: EXAMPLE_TYPE,
      description: EVENT_CATALOG[EXAMPLE_TYPE].description,
      schema: { type: "object" },
      example: bodyExampleOf(EXAMPLE_TYPE),
    },
  });

/** The catalogue of event types. */
export function addEventCatalogueRoutes(router: Router): void {
  const eventTypes = describeEventTypes();
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/webhook-events",
      operationId: "listWebhookEvents",
      tag: "Catalogues",
      summary: "List the types of events that a webhook can subscribe to",
      access: "signed-in",
      query: positionPageQuery,
      responses: {
        200: {
          description: "A page, in the order of the catalogue.",
          body: pageSchema(eventTypeRecord, "EventTypePage"),
        },
      },
    },
    async (c, { query }) =>
      c.json(
        toPositionPage(eventTypes, query, ({ type }) => EVENT_TYPES.indexOf(type)),
        200,
      ),
  );
}
