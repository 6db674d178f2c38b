import type { z } from "@hono/zod-openapi";
import type { adminWebhookRecord, webhookRecord } from "./schema.ts";
import type { Webhook } from "./store.ts";

/** The wire form of a webhook, without its secret. */
export function presentWebhook(webhook: Webhook): z.output<typeof webhookRecord> {
  const { id, orgId, url, description } = webhook;
  return { id, org_id: orgId, url, description, ...presentState(webhook) };
}

/** The wire form for the platform's staff: URLs carry secrets, so that it has the host alone. */
export function presentAdminWebhook(webhook: Webhook): z.output<typeof adminWebhookRecord> {
  const { id, orgId, url } = webhook;
  return { id, org_id: orgId, host: new URL(url).host, ...presentState(webhook) };
}

/** The fields of a webhook that the audit log keeps. */
export function auditWebhook(webhook: Webhook) {
  const { url, description, events, enabled, disabledReason } = webhook;
  return { host: new URL(url).host, description, events, enabled, disabled_reason: disabledReason };
}

/** The entity tag of a webhook. The second part changes with its deliveries, and no If-Match compares it. */
export function webhookTag(webhook: Webhook): string {
  const times = [webhook.disabledAt, webhook.failingSince, webhook.lastAttemptAt];
  const state = times.map((time) => time?.getTime().toString(36) ?? "").join(".");
  return `"${webhook.version}-${state}.${webhook.lastStatusCode ?? ""}"`;
}

function presentState(webhook: Webhook) {
  return {
    events: webhook.events,
    enabled: webhook.enabled,
    disabled_reason: webhook.disabledReason,
    disabled_at: toText(webhook.disabledAt),
    failing_since: toText(webhook.failingSince),
    last_delivery_at: toText(webhook.lastAttemptAt),
    last_status: webhook.lastStatusCode,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  };
}

function toText(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
