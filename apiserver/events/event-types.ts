import type { z } from "@hono/zod-openapi";

/** The types of events to which a webhook can subscribe. */
export const EVENT_TYPES = [
  "cluster.created",
  "cluster.ready",
  "cluster.upgraded",
  "cluster.degraded",
  "cluster.deleted",
  "node.replaced",
  "usage.alert",
  "invoice.generated",
  "ticket.updated",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Every type that a body can have: no webhook subscribes to a test. */
export const SENT_EVENT_TYPES = [...EVENT_TYPES, "webhook.test"] as const;
export type SentEventType = (typeof SENT_EVENT_TYPES)[number];

/** What a webhook subscribes to; `*` stands for every type of the catalogue. */
export type SubscribedType = EventType | "*";

/** What the slice that causes an event declares of its type: the schema of its data, and an example. */
export interface EventDefinition<
  Type extends SentEventType = SentEventType,
  Data extends z.ZodType = z.ZodType,
> {
  type: Type;
  description: string;
  data: Data;
  example: z.output<Data>;
}

/** Declares a type of event: one of `SENT_EVENT_TYPES` with the schema of its data. */
export function defineEvent<const Type extends SentEventType, Data extends z.ZodType>(
  definition: EventDefinition<Type, Data>,
): EventDefinition<Type, Data> {
  return definition;
}
