import type { z } from "@hono/zod-openapi";

/** A request that this service sends to the endpoint of a webhook: everything about it in the OpenAPI document. */
export interface SentEvent {
  /** The type of the event, as in `cluster.ready`. */
  type: string;
  description: string;
  body: z.ZodType;
  example: object;
}
