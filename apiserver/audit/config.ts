import { z } from "zod";

export const auditVariables = z
  .object({
    MARINA_AUDIT_RETENTION_DAYS: z.coerce.number().int().min(30).max(36_500).default(400),
    MARINA_AUDIT_WEBHOOK_TOKEN: z.string().min(32).max(1024).optional(),
  })
  .transform((env) => ({
    /** The bearer credential of the Kubernetes API's audit events; absent: none are taken, and no deleter is known. */
    auditWebhookToken: env.MARINA_AUDIT_WEBHOOK_TOKEN,
    /** How long an entry of the audit log is kept at least; it goes with its month. */
    auditRetentionDays: env.MARINA_AUDIT_RETENTION_DAYS,
  }));
