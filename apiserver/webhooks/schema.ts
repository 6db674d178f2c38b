import { z } from "@hono/zod-openapi";
import { text } from "../../shared/crd/fields.ts";
import { suggestNearest } from "../../shared/program/wording.ts";
import { EVENT_TYPES, type SubscribedType } from "../events/event-types.ts";
import {
  idField,
  immutableField,
  readOnlyField,
  textField,
  timestampField,
} from "../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";
import { findUrlRefusal } from "./sending/endpoint-url.ts";
import { DISABLED_REASONS } from "./table.ts";

/** What a webhook can subscribe to. */
const SUBSCRIPTIONS = [...EVENT_TYPES, "*"] as const satisfies readonly SubscribedType[];

const subscriptionSchema = z
  .string()
  .transform((text, context): SubscribedType => {
    const known = SUBSCRIPTIONS.find((subscription) => subscription === text);
    if (known !== undefined) return known;
    context.addIssue({
      code: "custom",
      message: `is no type of GET /api/v1/webhook-events${suggestNearest(text, SUBSCRIPTIONS)}`,
      params: { code: "unknown_event" },
    });
    return z.NEVER;
  })
  .openapi({ type: "string", enum: [...SUBSCRIPTIONS] });

/** Types of the catalogue, each at most once, or `*` alone. */
const subscriptionsSchema = z
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

const MAX_URL_LENGTH = 2048;
const MAX_DESCRIPTION_LENGTH = 1000;

const URL_EXAMPLE = "https://hooks.example.com/marina";
const EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  url: URL_EXAMPLE,
  description: "Chat of the platform team",
  events: ["cluster.ready" as const, "cluster.degraded" as const],
  enabled: true,
  disabled_reason: null,
  disabled_at: null,
  failing_since: null,
  last_delivery_at: "2026-11-21T09:05:00.000Z",
  last_status: 204,
  created_at: "2026-11-21T09:00:00.000Z",
  updated_at: "2026-11-21T09:00:00.000Z",
};

/** The health of an endpoint, as both its tenant and the platform's staff see it. */
const stateFields = {
  events: z
    .array(z.enum(SUBSCRIPTIONS))
    .max(EVENT_TYPES.length)
    .openapi({ description: "The types of events that it subscribes to; `*` alone stands for all." }),
  enabled: z.boolean().openapi({ description: "Whether events are delivered." }),
  disabled_reason: z.enum(DISABLED_REASONS).nullable().openapi({
    description:
      "Why the service disabled it: `gone` (the endpoint responded with 410) or `failing` (no delivery succeeded for five days). Null also when a member did.",
  }),
  disabled_at: timestampField("When it was disabled; null while it is enabled.").nullable(),
  failing_since: timestampField("The first failed delivery since the last successful one.").nullable(),
  last_delivery_at: timestampField("When a delivery was last attempted.").nullable(),
  last_status: statusField("The HTTP status of that attempt; null when no response came."),
  created_at: timestampField("When it was created."),
  updated_at: timestampField("When a setting was last changed."),
};

const webhookFields = z.object({
  id: idField("The webhook."),
  org_id: idField("The organization that it belongs to."),
  url: textField(MAX_URL_LENGTH, "The endpoint that events are sent to.", URL_EXAMPLE),
  description: textField(MAX_DESCRIPTION_LENGTH, "What it is for."),
  ...stateFields,
});

export const webhookRecord = webhookFields.openapi("Webhook", { example: EXAMPLE });
export const webhookPage = pageSchema(webhookRecord, "WebhookPage");

export const webhookWithSecretRecord = webhookFields
  .extend({
    secret: z
      .string()
      .max(70)
      .regex(/^whsec_[0-9a-f]{64}$/)
      .openapi({
        description:
          "The signing secret, returned only once. Libraries for Standard Webhooks take it as it is.",
      }),
  })
  .openapi("WebhookWithSecret", { example: { ...EXAMPLE, secret: `whsec_${"0".repeat(64)}` } });

export const adminWebhookRecord = z
  .object({
    id: idField("The webhook."),
    org_id: idField("The organization that it belongs to."),
    host: textField(MAX_URL_LENGTH, "Host and port of the endpoint.", "hooks.example.com"),
    ...stateFields,
  })
  .openapi("AdminWebhook", {
    example: { ...omit(EXAMPLE, "url", "description"), host: "hooks.example.com" },
  });
export const adminWebhookPage = pageSchema(adminWebhookRecord, "AdminWebhookPage");

const urlSchema = text(
  1,
  MAX_URL_LENGTH,
  "The endpoint that events are sent to: https, port 443 or one from 1024 to 65535, without user name and password, on the public internet. Other ports are refused, for they belong to services that take no webhooks, as SSH and mail.",
)
  .superRefine((url, context) => {
    const refusal = url === "" ? undefined : findUrlRefusal(url);
    if (refusal === undefined) return;
    context.addIssue({ code: "custom", message: refusal.message, params: { code: refusal.code } });
  })
  .openapi({ example: URL_EXAMPLE });
const descriptionSchema = text(0, MAX_DESCRIPTION_LENGTH, "What it is for.");
const enabledSchema = z.boolean().openapi({ description: "Whether events are delivered." });

export const createWebhookBody = z
  .strictObject({
    url: urlSchema,
    description: descriptionSchema.default(""),
    events: subscriptionsSchema,
    enabled: enabledSchema.default(true),
  })
  .openapi("CreateWebhook", {
    example: { url: URL_EXAMPLE, events: ["cluster.ready", "cluster.degraded"] },
  });

/** Omitted fields are unchanged. What a GET returns may be sent back. */
export const updateWebhookBody = z
  .strictObject({
    url: urlSchema.optional(),
    description: descriptionSchema.optional(),
    events: subscriptionsSchema.optional(),
    enabled: enabledSchema.optional(),
    id: immutableField(idSchema),
    org_id: immutableField(idSchema),
    disabled_reason: readOnlyField,
    disabled_at: readOnlyField,
    failing_since: readOnlyField,
    last_delivery_at: readOnlyField,
    last_status: readOnlyField,
    created_at: readOnlyField,
    updated_at: readOnlyField,
  })
  .openapi("UpdateWebhook", { example: { events: ["*"], enabled: true } });

export const webhookListQuery = pageQuery.extend({
  enabled: flag("Only those that are enabled, or only those that are not."),
  disabled_reason: z
    .enum(DISABLED_REASONS)
    .optional()
    .openapi({ description: "Only those that the service disabled for this reason." }),
  failing: flag("Only those whose last deliveries failed, or only those whose did not."),
});

export const adminWebhookListQuery = webhookListQuery.extend({
  org_id: idSchema.optional().openapi({ description: "Only webhooks of this organization." }),
});

function flag(description: string) {
  return z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional()
    .openapi({ type: "boolean", description });
}

/** An HTTP status in a response; null without one. */
export function statusField(description: string) {
  return z.int().min(100).max(599).nullable().openapi({ description, example: 204 });
}

function omit<T extends object, K extends keyof T>(record: T, ...fields: K[]): Omit<T, K> {
  const copy = { ...record };
  for (const field of fields) delete copy[field];
  return copy;
}
