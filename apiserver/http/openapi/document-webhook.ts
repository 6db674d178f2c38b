import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { SentEvent } from "../contract/sent-event.ts";

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

/** Adds a request that this service sends to the webhooks of the document. */
export function documentWebhook(
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
