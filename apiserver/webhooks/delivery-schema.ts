import { z } from "@hono/zod-openapi";
import { SENT_EVENT_TYPES } from "../events/event-types.ts";
import { countField, idField, textField, timeSchema, timestampField } from "../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";
import { MAX_ATTEMPTS } from "./deliverer/schedule.ts";
import { bodyExampleOf } from "./event-schema.ts";
import { statusField } from "./schema.ts";
import { DELIVERY_STATUSES, DELIVERY_TRIGGERS, ERROR_CLASSES } from "./table.ts";

/** What the log shows of a text; longer ones are cut. */
export const MAX_LENGTHS = {
  url: 2048,
  header: 8192,
  error: 1024,
  responseBody: 16_384,
  body: 65_536,
} as const;
const MAX_HEADERS = 256;
const MAX_DURATION_MS = 3_600_000;

const errorClassField = z.enum(ERROR_CLASSES).nullable().openapi({
  description:
    "Why it failed: no address (`dns`), no connection (`connect`), no valid certificate (`tls`), no response in time (`timeout`), a status other than 2xx (`status`), a response that is no HTTP/1.1 (`protocol`), or an address that may not be called (`blocked_address`).",
});

const deliveryFields = z.object({
  id: idField("The delivery."),
  webhook_id: idField("The webhook."),
  event_id: idField(
    "The event: the `webhook-id` of every attempt, also of another delivery of the same event.",
  ),
  event_type: z.enum(SENT_EVENT_TYPES).openapi({ description: "The type of the event." }),
  trigger: z.enum(DELIVERY_TRIGGERS).openapi({
    description: "Why it was made: as the event happened (`event`), or by an operation.",
  }),
  status: z.enum(DELIVERY_STATUSES).openapi({
    description:
      "`pending` until an attempt succeeds (`delivered`), the last one fails (`failed`), or it became too old while the webhook was disabled (`cancelled`).",
  }),
  attempt_count: countField(MAX_ATTEMPTS, "Attempts so far.", 1),
  max_attempts: countField(MAX_ATTEMPTS, "The most attempts.", MAX_ATTEMPTS),
  next_attempt_at: timestampField("The earliest time of the next attempt; null unless pending.").nullable(),
  last_status: statusField("The HTTP status of the last attempt; null when no response came."),
  last_error_class: errorClassField,
  created_at: timestampField("When it was created."),
  completed_at: timestampField("When it was delivered, failed or was cancelled.").nullable(),
});

const headersField = (description: string) =>
  z
    .record(z.string(), z.string().max(MAX_LENGTHS.header))
    .openapi({ description, maxProperties: MAX_HEADERS });

const attemptRecord = z
  .object({
    number: countField(MAX_ATTEMPTS, "From 1.", 1),
    at: timestampField("When it began."),
    duration_ms: countField(
      MAX_DURATION_MS,
      "Until the response had arrived or failed, in milliseconds.",
      83,
    ),
    request_url: textField(MAX_LENGTHS.url, "The endpoint that it was sent to."),
    request_headers: headersField("The headers that were sent."),
    status: statusField("The HTTP status; null when no response came."),
    response_headers: headersField(
      "The headers of the response; null when none came, or once there are 2,000 newer deliveries.",
    ).nullable(),
    response_body: textField(
      MAX_LENGTHS.responseBody,
      "The first 16 KiB of the response, as UTF-8; null when none came, or once there are 2,000 newer deliveries.",
    ).nullable(),
    error_class: errorClassField,
    error_message: textField(MAX_LENGTHS.error, "What failed, for people.").nullable(),
  })
  .openapi("WebhookAttempt", { description: "What was sent once, and what came back." });

const EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e17",
  webhook_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  event_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e18",
  event_type: "cluster.ready" as const,
  trigger: "event" as const,
  status: "delivered" as const,
  attempt_count: 1,
  max_attempts: MAX_ATTEMPTS,
  next_attempt_at: null,
  last_status: 204,
  last_error_class: null,
  created_at: "2026-11-21T09:00:00.000Z",
  completed_at: "2026-11-21T09:00:00.120Z",
};

export const deliveryRecord = deliveryFields.openapi("WebhookDelivery", { example: EXAMPLE });
export const deliveryPage = pageSchema(deliveryRecord, "WebhookDeliveryPage");

export const deliveryDetailRecord = deliveryFields
  .extend({
    body: textField(
      MAX_LENGTHS.body,
      "The exact text that is signed and sent. For a `usage.alert` and an `invoice.generated` it is null without billing:read, and so is what came back.",
    ).nullable(),
    attempts: z
      .array(attemptRecord)
      .max(MAX_ATTEMPTS)
      .openapi({ description: "The attempts, the first one first." }),
  })
  .openapi("WebhookDeliveryDetail", {
    example: {
      ...EXAMPLE,
      body: JSON.stringify(bodyExampleOf("cluster.ready")),
      attempts: [
        {
          number: 1,
          at: "2026-11-21T09:00:00.037Z",
          duration_ms: 83,
          request_url: "https://hooks.example.com/marina",
          request_headers: { "webhook-id": "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e18" },
          status: 204,
          response_headers: { date: "Sat, 21 Nov 2026 09:00:00 GMT" },
          response_body: "",
          error_class: null,
          error_message: null,
        },
      ],
    },
  });

export const deliveryListQuery = pageQuery.extend({
  cursor: idSchema.optional().openapi({
    description: "Id of the last delivery seen; returns those that were created before it.",
  }),
  status: z.enum(DELIVERY_STATUSES).optional().openapi({ description: "Only those with this status." }),
  event_type: z.enum(SENT_EVENT_TYPES).optional().openapi({ description: "Only those of this type." }),
});

export const recoverBody = z
  .strictObject({
    since: timeSchema.openapi({
      type: "string",
      format: "date-time",
      description: "Events from then on; at most 30 days back, and never before the creation of the webhook.",
    }),
  })
  .openapi("RecoverWebhook", { example: { since: "2026-11-21T09:00:00Z" } });

export const recoveryRecord = z
  .object({
    since: timestampField("Events from then on were looked at."),
    deliveries: countField(Number.MAX_SAFE_INTEGER, "The deliveries that were made.", 12),
  })
  .openapi("WebhookRecovery", { example: { since: "2026-11-21T09:00:00.000Z", deliveries: 12 } });
