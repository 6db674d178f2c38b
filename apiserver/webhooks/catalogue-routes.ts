import { OpenAPIHono } from "@hono/zod-openapi";
import { EVENT_TYPES } from "../events/event-types.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { positionPageQuery, toPositionPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { bodyExampleOf, bodySchemaOf, EVENT_CATALOG, eventTypePage } from "./event-schema.ts";

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

/** The types that a webhook can subscribe to, with the JSON Schema and an example of the whole body of each. */
function describeEventTypes() {
  const schemas = renderSchemas();
  return EVENT_TYPES.map((type) => ({
    type,
    description: EVENT_CATALOG[type].description,
    body_schema: withoutReferences(schemas[type], schemas) as Record<string, unknown>,
    body_example: bodyExampleOf(type) as Record<string, unknown>,
  }));
}

/** Schemas of OpenAPI 3.1 are JSON Schema of draft 2020-12. */
function renderSchemas(): Record<string, unknown> {
  const app = new OpenAPIHono();
  for (const type of EVENT_TYPES) app.openAPIRegistry.register(type, bodySchemaOf(type));
  const info = { title: "Events", version: "1" };
  return app.getOpenAPI31Document({ openapi: "3.1.0", info }).components?.schemas ?? {};
}

function withoutReferences(value: unknown, schemas: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((entry) => withoutReferences(entry, schemas));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value) return withoutReferences(schemas[String(value.$ref).split("/").at(-1) ?? ""], schemas);
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, withoutReferences(entry, schemas)]),
  );
}
