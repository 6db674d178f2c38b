import { z } from "@hono/zod-openapi";
import { EVENT_TYPES, type SubscribedType } from "../outbox/catalog.ts";

/** What a webhook can subscribe to. */
export const SUBSCRIPTIONS = [...EVENT_TYPES, "*"] as const satisfies readonly SubscribedType[];

const subscriptionSchema = z
  .string()
  .transform((text, context): SubscribedType => {
    const known = SUBSCRIPTIONS.find((subscription) => subscription === text);
    if (known !== undefined) return known;
    context.addIssue({
      code: "custom",
      message: "is no type of GET /api/v1/webhook-events",
      params: { code: "unknown_event" },
    });
    return z.NEVER;
  })
  .openapi({ type: "string", enum: [...SUBSCRIPTIONS] });

/** Types of the catalogue, each at most once, or `*` alone. */
export const subscriptionsSchema = z
  .array(subscriptionSchema)
  .min(1)
  .max(EVENT_TYPES.length)
  .superRefine((events, context) => {
    if (events.includes("*") && events.length > 1)
      context.addIssue({
        code: "custom",
        message: "must be `*` alone, or types without it",
        params: { code: "unknown_event" },
      });
    for (const [index, event] of events.entries()) {
      if (events.indexOf(event) === index) continue;
      const params = { code: "duplicate" };
      context.addIssue({ code: "custom", path: [index], message: "must be given once", params });
    }
  })
  .openapi({ description: "The types of events to subscribe to, each at most once, or `*` alone for all." });
