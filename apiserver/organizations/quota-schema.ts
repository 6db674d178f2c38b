import { createHash } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { MAX_QUOTA, type QuotaAmounts, type QuotaName, quotaLimitsSchema } from "../../shared/crd/quota.ts";
import { countField, idField, timestampField } from "../http/contract/fields.ts";
import { observedField } from "../http/contract/immutable-fields.ts";
import { idSchema } from "../http/contract/validate.ts";
import type { QuotaChange } from "./change-quotas.ts";
import type { Quotas } from "./read-quotas.ts";

const { clusters, nodePools, nodes, vcpus, memoryGB } = quotaLimitsSchema.shape;
const settable = (schema: typeof clusters, what: string) =>
  schema.nullable().openapi({ description: `Most ${what}; null: the platform's default.`, example: 20 });
const settings = {
  clusters: settable(clusters, "clusters"),
  node_pools: settable(nodePools, "node pools"),
  nodes: settable(nodes, "nodes of all pools; an autoscaled pool counts with the most it may grow to"),
  vcpus: settable(vcpus, "virtual CPUs of all nodes"),
  memory_gb: settable(memoryGB, "memory of all nodes in GiB"),
};

const amountsRecord = (description: string) =>
  z
    .object({
      clusters: countField(MAX_QUOTA, "Clusters."),
      node_pools: countField(MAX_QUOTA, "Node pools."),
      nodes: countField(MAX_QUOTA, "Nodes."),
      vcpus: countField(MAX_QUOTA, "Virtual CPUs."),
      memory_gb: countField(MAX_QUOTA, "Memory in GiB."),
    })
    .openapi({ description });

export const quotasRecord = z
  .object({
    org_id: idField("The organization."),
    ...settings,
    effective: amountsRecord("The limits in force."),
    defaults: amountsRecord("The platform's defaults."),
    used: amountsRecord("What is in use, writes under way included."),
    updated_at: timestampField("When a limit was set last; null: never.").nullable(),
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
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

/** Omitted limits stay as they are. What GET returns may be sent back. */
export const setQuotasBody = z
  .strictObject({
    clusters: settings.clusters.optional(),
    node_pools: settings.node_pools.optional(),
    nodes: settings.nodes.optional(),
    vcpus: settings.vcpus.optional(),
    memory_gb: settings.memory_gb.optional(),
    org_id: idSchema.optional().openapi({ description: "Fixed: only the present value is accepted." }),
    effective: observedField,
    defaults: observedField,
    used: observedField,
    updated_at: observedField,
  })
  .openapi("SetOrganizationQuotas", { example: { clusters: 20, vcpus: null } });

/** Limits by their wire names. */
export function presentLimits<T>(limits: Readonly<Record<QuotaName, T>>) {
  return {
    clusters: limits.clusters,
    node_pools: limits.nodePools,
    nodes: limits.nodes,
    vcpus: limits.vcpus,
    memory_gb: limits.memoryGB,
  };
}

export function presentQuotas(
  quotas: Quotas,
  defaults: QuotaAmounts,
  used: QuotaAmounts,
): z.output<typeof quotasRecord> {
  return {
    org_id: quotas.orgId,
    ...presentLimits(quotas.configured),
    effective: presentLimits(quotas.effective),
    defaults: presentLimits(defaults),
    used: presentLimits(used),
    updated_at: quotas.updatedAt?.toISOString() ?? null,
  };
}

export function toQuotaChange(body: z.output<typeof setQuotasBody>): QuotaChange {
  return {
    clusters: body.clusters,
    nodePools: body.node_pools,
    nodes: body.nodes,
    vcpus: body.vcpus,
    memoryGB: body.memory_gb,
  };
}

/** The version of the limits, and behind it what else the record shows: as of a custom resource, a write insists on the first alone. */
export function quotasTag({ version, effective }: Quotas, used: QuotaAmounts): string {
  const shown = JSON.stringify([presentLimits(effective), presentLimits(used)]);
  return `"${version}-${createHash("sha256").update(shown).digest("hex").slice(0, 16)}"`;
}
