import { z } from "zod";

export const auditVariables = z
  .object({ MARINA_AUDIT_RETENTION_DAYS: z.coerce.number().int().min(30).max(36_500).default(400) })
  .transform((env) => ({
    /** How long an entry of the audit log is kept at least; it goes with its month. */
    auditRetentionDays: env.MARINA_AUDIT_RETENTION_DAYS,
  }));
