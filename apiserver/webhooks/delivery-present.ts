import type { z } from "@hono/zod-openapi";
import { truncateText } from "../../shared/program/wording.ts";
import type { SentEventType } from "../events/event-types.ts";
import type { Permission } from "../http/authorization/permissions.ts";
import { type deliveryDetailRecord, type deliveryRecord, MAX_LENGTHS } from "./delivery-schema.ts";
import type { WebhookAttemptRow, WebhookDeliveryRow } from "./table.ts";

/** Events whose bodies contain amounts of money. */
const BILLING_EVENTS: readonly SentEventType[] = ["usage.alert", "invoice.generated"];

/** The wire form of a delivery. */
export function presentDelivery(row: WebhookDeliveryRow): z.output<typeof deliveryRecord> {
  return {
    id: row.id,
    webhook_id: row.webhookId,
    event_id: row.eventId,
    event_type: row.eventType,
    trigger: row.trigger,
    status: row.status,
    attempt_count: row.attempts,
    max_attempts: row.maxAttempts,
    next_attempt_at: row.nextAttemptAt?.toISOString() ?? null,
    last_status: row.lastStatusCode,
    last_error_class: row.lastErrorClass,
    created_at: row.createdAt.toISOString(),
    completed_at: row.completedAt?.toISOString() ?? null,
  };
}

/** Like presentDelivery, with its attempts, and its body if the reader may see it; a response can repeat the body. */
export function presentDeliveryDetail(
  delivery: WebhookDeliveryRow,
  {
    body,
    attempts,
    rights,
  }: { body: string; attempts: readonly WebhookAttemptRow[]; rights: ReadonlySet<Permission> },
): z.output<typeof deliveryDetailRecord> {
  const isHidden = BILLING_EVENTS.includes(delivery.eventType) && !rights.has("billing:read");
  return {
    ...presentDelivery(delivery),
    body: isHidden ? null : body,
    attempts: attempts.map((attempt) => {
      const shown = presentAttempt(attempt);
      return isHidden ? { ...shown, response_body: null } : shown;
    }),
  };
}

function presentAttempt(row: WebhookAttemptRow) {
  return {
    number: row.number,
    at: row.at.toISOString(),
    duration_ms: row.durationMs,
    request_url: row.requestUrl,
    request_headers: presentHeaders(row.requestHeaders),
    status: row.statusCode,
    response_headers: row.responseHeaders === null ? null : presentHeaders(row.responseHeaders),
    response_body: row.responseBody === null ? null : toText(row.responseBody),
    error_class: row.errorClass,
    error_message: row.errorMessage === null ? null : truncateText(row.errorMessage, MAX_LENGTHS.error),
  };
}

function presentHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, truncateText(value, MAX_LENGTHS.header)]),
  );
}

/** Bytes that are no text are replaced. */
function toText(bytes: Buffer): string {
  return bytes.toString("utf8").replaceAll("\0", "\uFFFD");
}
