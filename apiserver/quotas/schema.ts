import { z } from "@hono/zod-openapi";
import { MAX_QUOTA, QUOTA_NAMES, type QuotaName, quotaLimitsSchema } from "../../shared/crd/quota.ts";
import {
  countField,
  idField,
  immutableField,
  readOnlyField,
  timestampField,
} from "../http/contract/fields.ts";
import { idSchema } from "../http/contract/validate.ts";
import type { QuotaFigures } from "../http/errors.ts";

/** The quotas by their names on the wire. */
export const QUOTA_WIRE_NAMES = {
  clusters: "clusters",
  nodePools: "node_pools",
  nodes: "nodes",
  vcpus: "vcpus",
  memoryGB: "memory_gb",
} as const satisfies Record<QuotaName, string>;

const names = QUOTA_NAMES.map((name) => QUOTA_WIRE_NAMES[name]);

const quotaEffectRecord = z
  .object({
    name: z.enum(names).openapi({ description: "The quota." }),
    limit: countField(MAX_QUOTA, "What the organization may have.", 100),
    used: countField(MAX_QUOTA, "What it uses now.", 9),
    delta: z
      .int()
      .min(-MAX_QUOTA)
      .max(MAX_QUOTA)
      .openapi({ description: "What the request adds or, negative, frees.", example: 3 }),
    projected: countField(MAX_QUOTA, "What it uses afterwards.", 12),
  })
  .openapi("QuotaEffect", { description: "The effect on one quota." });

export type QuotaEffect = z.output<typeof quotaEffectRecord>;

/** The effect of a request on every quota. */
export const quotaEffectsField = z
  .array(quotaEffectRecord)
  .max(QUOTA_NAMES.length)
  .openapi({ description: "The effect on every quota." });

const { clusters, nodePools, nodes, vcpus, memoryGB } = quotaLimitsSchema.shape;
const settable = (schema: typeof clusters, what: string) =>
  schema
    .nullable()
    .openapi({ description: `Maximum number of ${what}; null is the platform's default.`, example: 20 });
const settings = {
  clusters: settable(clusters, "clusters"),
  node_pools: settable(nodePools, "node pools"),
  nodes: settable(nodes, "nodes of all pools; an autoscaled pool counts with its maximum"),
  vcpus: settable(vcpus, "virtual CPUs of all nodes"),
  memory_gb: settable(memoryGB, "GiB of memory of all nodes"),
};

const amounts = z
  .object({
    clusters: countField(MAX_QUOTA, "Clusters."),
    node_pools: countField(MAX_QUOTA, "Node pools."),
    nodes: countField(MAX_QUOTA, "Nodes."),
    vcpus: countField(MAX_QUOTA, "Virtual CPUs."),
    memory_gb: countField(MAX_QUOTA, "Memory in GiB."),
  })
  .openapi("OrganizationQuotaAmounts");
const MAX_STORE_USE = 2 ** 50;
/** What an organization keeps elsewhere than in its clusters: a refusal has the name as the field of its detail. */
export const STORE_NAMES = [
  "open_tickets",
  "tickets_per_day",
  "ticket_messages_per_day",
  "attachments_per_day",
  "attachment_bytes",
  "api_tokens",
  "webhooks",
  "accesses",
  "registry_credentials",
  "pending_image_scans",
  "image_scan_report_bytes",
  "kubernetes_deletions_per_day",
] as const;

export type StoreName = (typeof STORE_NAMES)[number];

const storeQuota = z
  .object({
    name: z.enum(STORE_NAMES).openapi({
      description: "What is limited; where one more is refused, a field in `details` has this name.",
    }),
    limit: countField(MAX_STORE_USE, "How much the organization may have."),
    used: countField(MAX_STORE_USE, "How much it has."),
  })
  .openapi("OrganizationStoreQuota");

const ticketLimits = z
  .object({
    messages_per_ticket: countField(MAX_STORE_USE, "Messages of the members."),
    attachments_per_ticket: countField(MAX_STORE_USE, "Attachments that the members announced."),
    attachment_bytes_per_ticket: countField(MAX_STORE_USE, "Bytes of all of these."),
  })
  .openapi("OrganizationTicketLimits", {
    description:
      "What one ticket may have, by the configuration of the platform; where one more is refused, a field in `details` has its name.",
  });

const amountsRecord = (description: string) => amounts.openapi({ description });

export const quotasRecord = z
  .object({
    org_id: idField("The organization."),
    ...settings,
    effective: amountsRecord("The limits in force."),
    defaults: amountsRecord("The platform's defaults."),
    used: amountsRecord("What is in use, including writes in progress."),
    stores: z.array(storeQuota).max(STORE_NAMES.length).openapi({
      description:
        "What else is limited for an organization, by the configuration of the platform: what it keeps now, and of `_per_day` what it has added within 24 hours. Accesses show some seconds after they begin or end. Pending invitations, which GET /me shows, and Idempotency-Keys are limited for a user, in all organizations together, and are not among them.",
    }),
    ticket_limits: ticketLimits,
    updated_at: timestampField("When a limit was last set; null if never.").nullable(),
  })
  .openapi("OrganizationQuotas", {
    example: {
      org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      clusters: 20,
      node_pools: null,
      nodes: null,
      vcpus: null,
      memory_gb: null,
      effective: { clusters: 20, node_pools: 500, nodes: 1000, vcpus: 4000, memory_gb: 16_000 },
      defaults: { clusters: 100, node_pools: 500, nodes: 1000, vcpus: 4000, memory_gb: 16_000 },
      used: { clusters: 2, node_pools: 3, nodes: 9, vcpus: 18, memory_gb: 36 },
      stores: [
        { name: "open_tickets", limit: 500, used: 2 },
        { name: "api_tokens", limit: 100, used: 4 },
      ],
      ticket_limits: {
        messages_per_ticket: 1000,
        attachments_per_ticket: 100,
        attachment_bytes_per_ticket: 524_288_000,
      },
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

/** What an organization may have in each of its stores, and has. */
export type StoreQuotas = Readonly<Record<StoreName, QuotaFigures>>;

/** Omitted limits are unchanged. What a GET returns may be sent back. */
export const setQuotasBody = z
  .strictObject({
    clusters: settings.clusters.optional(),
    node_pools: settings.node_pools.optional(),
    nodes: settings.nodes.optional(),
    vcpus: settings.vcpus.optional(),
    memory_gb: settings.memory_gb.optional(),
    org_id: immutableField(idSchema),
    effective: readOnlyField,
    defaults: readOnlyField,
    used: readOnlyField,
    stores: readOnlyField,
    ticket_limits: readOnlyField,
    updated_at: readOnlyField,
  })
  .openapi("SetOrganizationQuotas", { example: { clusters: 20, vcpus: null } });
