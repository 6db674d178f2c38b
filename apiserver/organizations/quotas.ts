import { mapAmounts, type QuotaAmounts, type QuotaName } from "../../shared/crd/quota.ts";
import type { OrganizationQuotasRow } from "./table.ts";

/** The quotas of one organization: what staff set, and what is in force. */
export interface Quotas {
  orgId: string;
  /** Null: the default. */
  configured: Readonly<Record<QuotaName, number | null>>;
  effective: QuotaAmounts;
  version: number;
  /** When one was last set; null: never. */
  updatedAt: Date | null;
}

/** The quotas that a row, or a missing row, stands for. */
export function toQuotas(
  orgId: string,
  row: OrganizationQuotasRow | null | undefined,
  defaults: QuotaAmounts,
): Quotas {
  const { clusters = null, nodePools = null, nodes = null, vcpus = null, memoryGB = null } = row ?? {};
  const configured = { clusters, nodePools, nodes, vcpus, memoryGB };
  return {
    orgId,
    configured,
    effective: mapAmounts((name) => configured[name] ?? defaults[name]),
    version: row?.version ?? 0,
    updatedAt: row?.updatedAt ?? null,
  };
}
