import { OpenAPIHono, z } from "@hono/zod-openapi";
import { toRestWords } from "../../../shared/crd/rest-words.ts";
import { MAX_TIME_LENGTH } from "../contract/fields.ts";
import type { Operation } from "../contract/operation.ts";
import type { SentEvent } from "../contract/router.ts";
import { registerParts } from "./components.ts";
import { documentOperation } from "./document-operation.ts";

const MAX_SIGNATURES = 6;

/** `v1,` and 32 bytes in base64, with spaces between. */
const MAX_SIGNATURE_LENGTH = MAX_SIGNATURES * 48;

/** The headers of Standard Webhooks 1.0.0, by which a receiver verifies a request. */
const HEADERS = z.object({
  "webhook-id": z.guid().openapi({
    description:
      "The id of the event, the same for each attempt and each endpoint: what is repeated is known by it.",
    example: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e18",
  }),
  "webhook-timestamp": z
    .string()
    .regex(/^[0-9]{1,12}$/)
    .max(12)
    .openapi({ description: "When this attempt was made, in seconds since 1970.", example: "1795255200" }),
  "webhook-signature": z
    .string()
    .regex(/^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$/)
    .max(MAX_SIGNATURE_LENGTH)
    .openapi({
      description:
        "HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` in base64; during a rotation one for each secret that signs. The key is the text after `whsec_`, decoded from base64.",
      example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    }),
});

const LICENSE = { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" };

/** Gateways read from `x-internal` whether the server is public. */
const PUBLIC_SERVER = { url: "/", "x-internal": false };

/** The groups of operations: every tag that an operation has. */
const TAGS = [
  { name: "API tokens", description: "Credentials for programs, bound to one organization." },
  { name: "Audit", description: "Who did what, when and from where." },
  { name: "Billing", description: "What an organization spends: usage, budget and invoices." },
  { name: "Catalogues", description: "Kubernetes versions and plans of clusters, and types of events." },
  { name: "Clusters", description: "Managed Kubernetes clusters." },
  { name: "Members", description: "The members of an organization with their roles, and the caller." },
  {
    name: "Network policies",
    description: "Which addresses may connect to the public endpoint of a cluster, and how often.",
  },
  { name: "Node pools", description: "The nodes of a cluster, in pools of equal machines." },
  { name: "Organizations", description: "Tenants: every other record belongs to one." },
  { name: "Platform administration", description: "All organizations, for the platform's staff." },
  { name: "Registry", description: "Container images of an organization, and what is vulnerable in them." },
  {
    name: "Shared storage",
    description: "What an organization may store in its shared storage, and what it stores.",
  },
  { name: "Support", description: "Tickets, and the conversation of each with the platform's staff." },
  { name: "System events", description: "What happens to a cluster, live and as history." },
  { name: "Webhooks", description: "Endpoints that the events of an organization are sent to." },
];

export type OpenApiDocument = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

const DESCRIPTION = `Organizations, clusters and node pools as a service.

Every error response has a body of the schema \`Error\`; its codes are a closed list, and each code has one status.
Clients must ignore unknown fields and enum values. A list is in the order that its operation says; \`next_cursor\` of one page is
the \`cursor\` of the next. A POST with an \`Idempotency-Key\` can be repeated safely.`;

/** What slices declare for the document. */
export interface Declared {
  operations: readonly Operation[];
  sentEvents: readonly SentEvent[];
}

/** The OpenAPI 3.1 document of these operations, and of the requests that webhooks send. */
export function buildDocument({ operations, sentEvents }: Declared): OpenApiDocument {
  const app = new OpenAPIHono();
  for (const operation of operations) documentOperation(app.openAPIRegistry, operation);
  for (const event of sentEvents) documentWebhook(app.openAPIRegistry, event);
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "An access token of a configured issuer, verified as RFC8725 advises: algorithm, issuer, audience and type. The names beside it are the permissions of which one is required.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "apiToken", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "mar_",
    description:
      "An API token of the organization. The names beside it are the scopes of which one is required; the token's role and its creator's role limit them.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "ticket", {
    type: "apiKey",
    in: "query",
    name: "ticket",
    description: "A single-use ticket for clients that cannot send headers; see createStreamTicket.",
  });
  registerParts(app.openAPIRegistry);
  const document = app.getOpenAPI31Document(
    {
      openapi: "3.1.0",
      info: {
        title: "Marina",
        version: "1.0.0",
        description: DESCRIPTION,
        license: LICENSE,
      },
      servers: [PUBLIC_SERVER],
      tags: TAGS,
    },
    { sortComponents: "alphabetically" },
  );
  addPageExamples(document);
  completeSchemas(document);
  describeRepeatedFields(document);
  return document;
}

/** The example of a page is built from the example of its items. */
function addPageExamples(document: OpenApiDocument): void {
  const schemas = document.components?.schemas ?? {};
  for (const [name, schema] of Object.entries(schemas)) {
    if (!name.endsWith("Page") || "$ref" in schema) continue;
    const items = schema.properties?.items;
    if (items === undefined || "$ref" in items || items.items === undefined) continue;
    const item = "$ref" in items.items ? schemas[items.items.$ref.split("/").at(-1) ?? ""] : items.items;
    if (item === undefined || "$ref" in item || item.example === undefined) continue;
    schema.example = { items: [item.example], next_cursor: null };
  }
}

/**
 * Gives the fields of a PUT that take any value, since they are ignored or compared, the types that they have in its
 * response: typed clients send back what they read.
 */
function describeRepeatedFields(document: OpenApiDocument): void {
  const schemas = document.components?.schemas ?? {};
  const propertiesOf = (one: object | undefined) => {
    const { $ref = "" } = (one as Content | undefined)?.content?.["application/json"]?.schema ?? {};
    const schema = schemas[$ref.split("/").at(-1) ?? ""];
    return schema === undefined || "$ref" in schema ? {} : (schema.properties ?? {});
  };
  for (const { put } of Object.values(document.paths ?? {})) {
    const record = propertiesOf(put?.responses?.[200]);
    for (const [name, field] of Object.entries(propertiesOf(put?.requestBody))) {
      const isTyped = Object.keys(field).some((key) => key !== "description");
      if (!isTyped) Object.assign(field, record[name], { description: field.description });
    }
  }
}

interface Content {
  content?: Readonly<Record<string, { schema?: { $ref?: string } }>>;
}

const INT32_MAX = 2_147_483_647;
/** The maximum length of each format. */
const FORMAT_LENGTHS: Readonly<Record<string, number>> = { uuid: 36, "date-time": MAX_TIME_LENGTH };
/** Any text: bodies and addresses with U+0000 are refused, since Postgres cannot store it. */
const ANY_TEXT = "^[^\\x00]*$";

/**
 * Writes a description next to its `$ref`, as OpenAPI 3.1 allows; generators would make a separate type of
 * `allOf: [reference, { description }]`.
 */
function describeReference(schema: Record<string, unknown>): void {
  if (!Array.isArray(schema.allOf) || schema.allOf.length !== 2) return;
  const [reference, { description, ...others }] = schema.allOf;
  if (reference.$ref === undefined || Object.keys(others).length > 0) return;
  delete schema.allOf;
  Object.assign(schema, reference, { description });
}

/** Adds for gateways and generators what follows from each schema: the width of integers, the bounds of text. */
function completeSchemas(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const schema = value as Record<string, unknown>;
  const types = [schema.type].flat();
  if (types.includes("integer") && schema.format === undefined) {
    schema.format = Number(schema.maximum) > INT32_MAX ? "int64" : "int32";
  }
  if (types.includes("string") && schema.enum === undefined && schema.const === undefined) {
    if (schema.format === undefined) schema.pattern ??= ANY_TEXT;
    else if (typeof schema.format === "string") schema.maxLength ??= FORMAT_LENGTHS[schema.format];
  }
  // Bounds and rules are shared with the custom resources, whose field names clients never see.
  describeReference(schema);
  if (typeof schema.description === "string") schema.description = toRestWords(schema.description);
  for (const [key, entry] of Object.entries(schema)) {
    if (key !== "example" && key !== "examples") completeSchemas(entry);
  }
}

/** Adds a request that this service sends to the webhooks of the document. */
function documentWebhook(
  registry: OpenAPIHono["openAPIRegistry"],
  { type, description, body, example }: SentEvent,
): void {
  registry.registerWebhook({
    method: "post",
    path: type,
    operationId: toOperationId(type),
    tags: ["Webhooks"],
    summary: `Receive ${type}`,
    description,
    // Generators of clients leave it out: openapi-generator 7.14 writes functions without types for it in Python.
    "x-internal": true,
    // The receiver verifies the signature; there is no credential of this API.
    security: [],
    request: {
      headers: HEADERS,
      body: { required: true, content: { "application/json": { schema: body, example } } },
    },
    responses: {
      "2XX": { description: "Received. Any other response, and none within 15 s, is a failed attempt." },
      410: { description: "The endpoint is gone: the webhook is disabled." },
    },
  });
}

/** `receiveClusterReady` of `cluster.ready`. */
function toOperationId(type: string): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `receive${words.join("")}`;
}
