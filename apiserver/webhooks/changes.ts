import { isDeepStrictEqual } from "node:util";
import { type AuditEntry, recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { SubscribedType } from "../events/event-types.ts";
import type { Author } from "../http/authentication/principal.ts";
import { ApiError, describeExcess, invalidField, type QuotaFigures } from "../http/errors.ts";
import { makeQueuesDue } from "./deliverer/queue-store.ts";
import { auditWebhook } from "./present.ts";
import { addSecret, rotateSecret, type SecretKeys } from "./secrets/rotate.ts";
import { endSecrets } from "./secrets/store.ts";
import { createAddressGuard } from "./sending/address-guard.ts";
import { findEndpointRefusal } from "./sending/endpoint-url.ts";
import { createResolver } from "./sending/resolver.ts";
import {
  countWebhooks,
  endWebhooks,
  insertQueue,
  insertWebhook,
  updateQueue,
  updateWebhookRow,
  type Webhook,
} from "./store.ts";

/** An attempt that was claimed before its webhook ended still finds a secret to sign with. */
const LAST_ATTEMPT_MS = 5 * 60_000;
/** Webhooks that are kept for each that an organization may have: deleted ones stay for 30 days, for their log. */
const KEPT_PER_WEBHOOK = 10;
/** How long the pending deliveries of a deleted organization are still sent. */
const ORGANIZATION_END_MS = 24 * 60 * 60_000;

/** A webhook together with its signing secret in clear. */
export interface WebhookWithSecret {
  webhook: Webhook;
  secret: string;
}

interface NewWebhook {
  id: string;
  url: string;
  description: string;
  events: SubscribedType[];
  enabled: boolean;
  createdAt: Date;
}

/**
 * Creates a webhook in a locked organization. Throws 422 quota_exceeded when that has `maxWebhooks`, or ten times as many
 * with those that were deleted within 30 days.
 */
export async function createWebhook(
  tx: Queryable,
  author: Author,
  orgId: string,
  { maxWebhooks, keys, ...values }: NewWebhook & { maxWebhooks: number; keys: SecretKeys },
): Promise<WebhookWithSecret> {
  await requireCapacity(tx, orgId, maxWebhooks);
  const { id, enabled, createdAt } = values;
  const disabledAt = enabled ? null : createdAt;
  const row = await insertWebhook(tx, { orgId, ...values, updatedAt: createdAt, disabledAt });
  await insertQueue(tx, orgId, id);
  const secret = await addSecret(tx, keys, { orgId, webhookId: id });
  const webhook = { ...row, failingSince: null, lastAttemptAt: null, lastStatusCode: null };
  await recordWebhookAudit(tx, author, "webhook.create", webhook, { after: auditWebhook(webhook) });
  return { webhook, secret };
}

type WebhookChange = {
  [Setting in "url" | "description" | "events" | "enabled"]?: NewWebhook[Setting] | undefined;
};

/** Changes a locked webhook. Enabling it begins its record of failures anew, and what is pending is sent. */
export async function updateWebhook(
  tx: Queryable,
  author: Author,
  before: Webhook,
  change: WebhookChange,
  at: Date,
): Promise<Webhook> {
  const changed = findChanged(before, change);
  if (Object.keys(changed).length === 0) return before;
  const { id, orgId } = before;
  const disabledAt = changed.enabled === undefined ? {} : { disabledAt: changed.enabled ? null : at };
  const row = await updateWebhookRow(tx, orgId, id, {
    ...changed,
    ...disabledAt,
    ...(changed.enabled === true ? { disabledReason: null } : {}),
    updatedAt: at,
  });
  if (changed.enabled === true) await resume(tx, orgId, id);
  const after = { ...before, ...row, ...(changed.enabled === true ? { failingSince: null } : {}) };
  await recordWebhookAudit(tx, author, "webhook.update", after, {
    before: auditWebhook(before),
    after: { ...auditWebhook(after), url_changed: changed.url !== undefined },
  });
  return after;
}

/** Deletes a locked webhook; nothing that is pending is sent. */
export async function deleteWebhook(tx: Queryable, author: Author, before: Webhook, at: Date): Promise<void> {
  const { id, orgId } = before;
  await updateWebhookRow(tx, orgId, id, { deletedAt: at });
  await updateQueue(tx, orgId, id, { dueAt: null });
  await endSecrets(tx, { orgId, webhookId: id }, new Date(at.getTime() + LAST_ATTEMPT_MS));
  await recordWebhookAudit(tx, author, "webhook.delete", before, { before: auditWebhook(before) });
}

/** Deletes the webhooks of a deleted organization; what is pending is sent for 24 h more. */
export async function deleteWebhooksOf(tx: Queryable, orgId: string, at: Date): Promise<void> {
  const endAt = new Date(at.getTime() + ORGANIZATION_END_MS);
  await endWebhooks(tx, orgId, endAt);
  await endSecrets(tx, { orgId }, new Date(endAt.getTime() + LAST_ATTEMPT_MS));
}

/** Gives a locked webhook another secret; the one that it replaces signs for 24 h more. */
export async function rotateWebhookSecret(
  tx: Queryable,
  author: Author,
  webhook: Webhook,
  { keys, at }: { keys: SecretKeys; at: Date },
): Promise<WebhookWithSecret> {
  const { id, orgId } = webhook;
  const { secret, unreadable } = await rotateSecret(tx, keys, { orgId, webhookId: id, at });
  if (unreadable > 0) {
    await updateQueue(tx, orgId, id, { pausedUntil: null });
    await makeQueuesDue(tx, [id]);
  }
  await recordWebhookAudit(tx, author, "webhook.rotate_secret", webhook, { after: auditWebhook(webhook) });
  return { webhook, secret };
}

function findChanged(before: Webhook, change: WebhookChange): Partial<NewWebhook> {
  return Object.fromEntries(
    Object.entries(change).filter(
      ([name, value]) =>
        value !== undefined && !isDeepStrictEqual(value, before[name as keyof WebhookChange]),
    ),
  );
}

async function resume(tx: Queryable, orgId: string, webhookId: string): Promise<void> {
  await updateQueue(tx, orgId, webhookId, {
    pausedUntil: null,
    consecutiveFailures: 0,
    exhaustedEvents: 0,
    failingSince: null,
    failureAuditedAt: null,
  });
  await makeQueuesDue(tx, [webhookId]);
}

/** The webhooks of an organization, which may have `limit`, as one of its stores. */
export async function readWebhookStore(
  db: Queryable,
  orgId: string,
  limit: number,
): Promise<{ webhooks: QuotaFigures }> {
  return { webhooks: { limit, used: (await countWebhooks(db, orgId)).present } };
}

async function requireCapacity(tx: Queryable, orgId: string, limit: number): Promise<void> {
  const { present, kept } = await countWebhooks(tx, orgId);
  if (present >= limit) {
    throw new ApiError(
      "quota_exceeded",
      `The quota of webhooks is ${limit}, ${present} in use; delete one.`,
      {
        details: [describeExcess("webhooks", { limit, used: present })],
      },
    );
  }
  const figures = { limit: KEPT_PER_WEBHOOK * limit, used: kept };
  if (figures.used < figures.limit) return;
  throw new ApiError(
    "quota_exceeded",
    `The quota of webhooks within 30 days is ${figures.limit}, deleted ones included; change one instead of another.`,
    { details: [describeExcess("webhooks_per_30_days", figures)] },
  );
}

/** Writes the audit row of what was done to a webhook. */
export async function recordWebhookAudit(
  tx: Queryable,
  author: Author,
  action: string,
  { id, orgId }: Pick<Webhook, "id" | "orgId">,
  change: Pick<AuditEntry, "before" | "after">,
): Promise<void> {
  await recordAudit(tx, author, {
    action,
    orgId,
    target: { kind: "webhook", id },
    ...change,
    result: "done",
  });
}

/** The keys for the secrets of webhooks. Throws 503 dependency_unavailable when none is configured. */
export function requireKeys({ config }: Pick<Deps, "config">): SecretKeys {
  const [first, ...others] = config.webhooks.keys;
  if (first !== undefined) return [first, ...others];
  throw new ApiError(
    "dependency_unavailable",
    "Webhooks cannot be changed: this service has no key for their secrets.",
  );
}

/** Throws 422 for an endpoint that may not be called; resolves its name, for at most 2 s. */
export async function requireEndpoint({ config }: Pick<Deps, "config">, url: string): Promise<void> {
  const { allowedAddresses, blockedAddresses, blockedNames, dnsServers } = config.webhooks;
  const guard = createAddressGuard({ allowed: allowedAddresses, blocked: blockedAddresses });
  const resolver = createResolver({ servers: dnsServers });
  const refusal = await findEndpointRefusal(url, { guard, resolver, blockedNames });
  if (refusal !== undefined) throw invalidField("url", refusal.code, refusal.message);
}

/** Throws 409 conflict for a webhook to which nothing is delivered. */
export function requireEnabled({ enabled }: Pick<Webhook, "enabled">): void {
  if (!enabled) throw new ApiError("conflict", "The webhook is disabled; enable it first.");
}
