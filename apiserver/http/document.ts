import type { OpenAPIHono } from "@hono/zod-openapi";
import type { HttpEnv } from "./env.ts";

export type OpenApiDocument = ReturnType<OpenAPIHono<HttpEnv>["getOpenAPI31Document"]>;

const DESCRIPTION = `Organizations, clusters and node pools as a service.

Every answer that is not a success has the body of the schema \`Error\`; its codes are a closed list, one code has one
status. Clients must ignore fields and enum values that they do not know. Lists are ordered by id; \`next_cursor\` of one
page is the \`cursor\` of the next. Send \`Idempotency-Key\` with a POST to be free to repeat it.`;

/** The OpenAPI 3.1 document of all operations that were added to the application. */
export function buildDocument(app: OpenAPIHono<HttpEnv>): OpenApiDocument {
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "An access token of a configured issuer. The names beside it are the permissions that open the door.",
  });
  return app.getOpenAPI31Document(
    {
      openapi: "3.1.0",
      info: { title: "Marina", version: "1.0.0", description: DESCRIPTION, license: { name: "Apache-2.0" } },
      servers: [{ url: "/" }],
    },
    { sortComponents: "alphabetically" },
  );
}
