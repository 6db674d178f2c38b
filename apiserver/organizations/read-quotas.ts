import { eq } from "drizzle-orm";
import { mapAmounts, type QuotaAmounts, type QuotaName } from "../../shared/crd/quota.ts";
import type { Queryable } from "../db/client.ts";
import { type OrganizationQuotasRow, organizationQuotas } from "./table.ts";

/** The limits of one organization: what its staff set, and what is in force. */
export interface Quotas {
  orgId: string;
  /** Null: the default. */
  configured: Readonly<Record<QuotaName, number | null>>;
  effective: QuotaAmounts;
  version: number;
  /** When somebody set one last; null: nobody ever did. */
  updatedAt: Date | null;
}

/** The limits of an organization, whether it exists or not. */
export async function readQuotas(db: Queryable, defaults: QuotaAmounts, orgId: string): Promise<Quotas> {
  const [row] = await db.select().from(organizationQuotas).where(eq(organizationQuotas.orgId, orgId));
  return toQuotas(orgId, row, defaults);
}

/** What a row, or no row, means. */
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
