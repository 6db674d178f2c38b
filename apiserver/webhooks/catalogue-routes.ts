import { addRoute } from "../http/contract/add-route.ts";
import { positionPageQuery, toPositionPage } from "../http/contract/position-page.ts";
import type { Router } from "../http/contract/router.ts";
import { bodyExampleOf, bodySchemaOf, EVENT_CATALOG, EVENT_TYPES } from "../outbox/catalog.ts";
import { eventTypePage } from "./event-schema.ts";
import { describeEventTypes } from "./event-types.ts";

/** The catalogue of event types, as an operation and in the OpenAPI document. */
export function addEventCatalogueRoutes(router: Router): void {
  for (const type of EVENT_TYPES)
    router.sentEvents.push({
      type,
      description: EVENT_CATALOG[type].description,
      body: bodySchemaOf(type),
      example: bodyExampleOf(type),
    });
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
          body: eventTypePage,
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
