import { z } from "zod";
import { parseEnvironment } from "../shared/program/config.ts";
import { apiTokenVariables } from "./api-tokens/config.ts";
import { auditVariables } from "./audit/config.ts";
import { invoicingVariables } from "./billing/invoices/config.ts";
import { httpVariables } from "./http/config.ts";
import { memberVariables } from "./members/config.ts";
import { organizationVariables } from "./organizations/config.ts";
import { quotaVariables } from "./quotas/config.ts";
import { registryVariables } from "./registry/config.ts";
import { storageQuotaVariables } from "./storage-quotas/config.ts";
import { systemEventVariables } from "./system-events/config.ts";
import { attachmentVariables } from "./tickets/attachments/config.ts";
import { ticketVariables } from "./tickets/config.ts";
import { userVariables } from "./users/config.ts";
import { webhookVariables } from "./webhooks/config.ts";

const PROCESS_ROLES = ["api", "projector", "harvester", "webhooks", "scanner"] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/** Enough for load balancers to stop sending, and for most clients to send once more and get `Connection: close`. */
const DEFAULT_SHUTDOWN_DELAY_SECONDS = 5;

/** What the process itself needs. */
const processVariables = z
  .object({
    KUBECONFIG: z.string().optional(),
    MARINA_LISTEN_ADDRESS: z.string().min(1).default("0.0.0.0"),
    MARINA_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
    MARINA_METRICS_PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
    MARINA_PUBLIC_URL: z.url(),
    MARINA_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
    MARINA_PLATFORM_NAMESPACE: z.string().min(1).default("marina-system"),
    MARINA_ROLES: z
      .string()
      .default(PROCESS_ROLES.join(","))
      .transform((text) => text.split(",").map((role) => role.trim()))
      .pipe(z.array(z.enum(PROCESS_ROLES)).min(1)),
    MARINA_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
    MARINA_SHUTDOWN_DELAY_SECONDS: z.coerce.number().min(0).max(60).default(DEFAULT_SHUTDOWN_DELAY_SECONDS),
  })
  .transform((env) => ({
    listenAddress: env.MARINA_LISTEN_ADDRESS,
    port: env.MARINA_PORT,
    /** The port of /metrics, /healthz and /readyz, which are for the platform alone. */
    metricsPort: env.MARINA_METRICS_PORT,
    /** Where clients reach the API, without a slash at its end; the examples of /docs name it. */
    publicUrl: env.MARINA_PUBLIC_URL.replace(/\/$/, ""),
    databaseUrl: env.MARINA_DATABASE_URL,
    /** Absent in a Pod: then its ServiceAccount is used. */
    kubeconfigPath: env.KUBECONFIG,
    platformNamespace: env.MARINA_PLATFORM_NAMESPACE,
    roles: env.MARINA_ROLES,
    logLevel: env.MARINA_LOG_LEVEL as string,
    /** From SIGTERM: how long requests are still accepted, and connections asked to close. */
    shutdownDelaySeconds: env.MARINA_SHUTDOWN_DELAY_SECONDS,
  }));

/** The variables of the process and of each slice, which says in its own config.ts what they mean. */
export const configSchema = processVariables
  .and(httpVariables)
  .and(auditVariables)
  .and(organizationVariables)
  .and(memberVariables)
  .and(userVariables)
  .and(apiTokenVariables)
  .and(quotaVariables)
  .and(systemEventVariables)
  .and(webhookVariables)
  .and(ticketVariables)
  .and(attachmentVariables)
  .and(invoicingVariables)
  .and(storageQuotaVariables)
  .and(registryVariables);

export type Config = z.output<typeof configSchema>;

/** Reads the configuration from environment variables. Throws ConfigError listing every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  return parseEnvironment(configSchema, environment);
}
