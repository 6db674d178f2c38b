import { z } from "zod";
import { QUOTA_NAMES, type QuotaAmounts, quotaLimitSchema } from "../../shared/crd/quota.ts";
import { jsonText } from "../../shared/program/config.ts";

/** The quotas of an organization unless the platform's staff set others. */
export const DEFAULT_QUOTAS: QuotaAmounts = {
  clusters: 100,
  nodePools: 500,
  nodes: 1000,
  vcpus: 4000,
  memoryGB: 16_000,
};

/** Quotas that are not named keep their default. */
const quotasSchema = z
  .partialRecord(z.enum(QUOTA_NAMES), quotaLimitSchema)
  .transform((given): QuotaAmounts => ({ ...DEFAULT_QUOTAS, ...given }));

/** The quotas of an organization for which none are set. */
export const quotaVariables = z
  .object({ MARINA_QUOTAS: jsonText(quotasSchema).default(DEFAULT_QUOTAS) })
  .transform((env) => ({ quotas: env.MARINA_QUOTAS }));
