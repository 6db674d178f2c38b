import { createHash } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import type { QuotaAmounts, QuotaName } from "../../shared/crd/quota.ts";
import type { Config } from "../config.ts";
import type { Quotas } from "../organizations/index.ts";
import { type quotasRecord, STORE_NAMES, type StoreQuotas } from "./schema.ts";

/** Limits by their wire names; also what the audit log keeps. */
export function presentLimits<T>(limits: Readonly<Record<QuotaName, T>>) {
  return {
    clusters: limits.clusters,
    node_pools: limits.nodePools,
    nodes: limits.nodes,
    vcpus: limits.vcpus,
    memory_gb: limits.memoryGB,
  };
}

/** What an organization uses. */
export interface QuotaUse {
  used: QuotaAmounts;
  stores: StoreQuotas;
}

/** What the configuration limits. */
export type QuotaConfig = Pick<Config, "quotas" | "ticketLimits">;

/** The wire form of the quotas of an organization. */
export function presentQuotas(
  quotas: Quotas,
  { quotas: defaults, ticketLimits }: QuotaConfig,
  { used, stores }: QuotaUse,
): z.output<typeof quotasRecord> {
  return {
    org_id: quotas.orgId,
    ...presentLimits(quotas.configured),
    effective: presentLimits(quotas.effective),
    defaults: presentLimits(defaults),
    used: presentLimits(used),
    stores: STORE_NAMES.map((name) => ({ name, ...stores[name] })),
    ticket_limits: {
      messages_per_ticket: ticketLimits.messagesPerTicket,
      attachments_per_ticket: ticketLimits.attachmentsPerTicket,
      attachment_bytes_per_ticket: ticketLimits.attachmentBytesPerTicket,
    },
    updated_at: quotas.updatedAt?.toISOString() ?? null,
  };
}

/** The entity tag: the version of the limits, which If-Match compares, and a hash of what else the record shows. */
export function quotasTag(
  { version, effective }: Quotas,
  { ticketLimits }: QuotaConfig,
  { used, stores }: QuotaUse,
): string {
  const shown = JSON.stringify([presentLimits(effective), presentLimits(used), stores, ticketLimits]);
  return `"${version}-${createHash("sha256").update(shown).digest("hex").slice(0, 16)}"`;
}
