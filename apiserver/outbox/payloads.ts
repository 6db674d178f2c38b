import { z } from "@hono/zod-openapi";
import { idField, textField, timestampField } from "../http/contract/fields.ts";

/** The states of a ticket (spec 2.8), in the order in which most pass through them. */
export const TICKET_STATUSES = ["open", "in_progress", "waiting", "resolved", "closed"] as const;
export type TicketStatus = (typeof TICKET_STATUSES)[number];
export const TICKET_SEVERITIES = ["low", "medium", "high", "critical"] as const;
export type TicketSeverity = (typeof TICKET_SEVERITIES)[number];
export const TICKET_CATEGORIES = [
  "cluster",
  "networking",
  "storage",
  "identity",
  "billing",
  "feature_request",
  "general",
] as const;
export type TicketCategory = (typeof TICKET_CATEGORIES)[number];
/** Who wrote a message of a ticket. */
export const AUTHOR_TYPES = ["tenant", "provider"] as const;
export type AuthorType = (typeof AUTHOR_TYPES)[number];

const MAX_CENTS = Number.MAX_SAFE_INTEGER;
const MAX_EUR = Number.MAX_VALUE;
const MAX_THRESHOLD_PCT = 1_000_000;

const version = (description: string) => textField(32, description, "1.34.2");
const eur = (description: string) => z.number().min(0).max(MAX_EUR).openapi({ description });

export const clusterEventData = z
  .object({
    cluster_id: idField("The cluster."),
    org_id: idField("Its organization."),
    name: textField(63, "Its name when the event was recorded."),
    status: z
      .enum(["provisioning", "running", "degraded", "deleting"])
      .openapi({ description: "The status that it has entered." }),
    k8s_version: version("Its Kubernetes version."),
    previous_version: version("The Kubernetes version before an upgrade.").optional(),
    reason: textField(128, "Why, as a CamelCase word for programs.", "EndpointUnreachable").optional(),
  })
  .openapi("ClusterEventData", { description: "The data of a `cluster.*` event." });

export const nodeReplacedData = z
  .object({
    cluster_id: idField("The cluster."),
    node_pool_id: idField("The node pool."),
    old_node: textField(253, "The name of the node that is gone.").nullable(),
    new_node: textField(253, "The name of the node that stands in its place."),
    reason: textField(128, "Why, as a CamelCase word for programs.", "Unhealthy"),
  })
  .openapi("NodeReplacedData", { description: "The data of a `node.replaced` event." });

export const usageAlertData = z
  .object({
    budget_eur: eur("The budget of a month, net, in euro."),
    spend_eur: eur("The spend of the month so far, net, in euro."),
    threshold_pct: z
      .number()
      .min(0)
      .max(MAX_THRESHOLD_PCT)
      .openapi({ description: "The threshold that was reached, in percent." }),
    billing_month: z
      .string()
      .max(7)
      .regex(/^[0-9]{4}-(0[1-9]|1[0-2])$/)
      .openapi({ description: "The month, in UTC." }),
  })
  .openapi("UsageAlertData", { description: "The data of a `usage.alert` event." });

export const invoiceGeneratedData = z
  .object({
    invoice_id: idField("The invoice."),
    amount_cents: z.int().min(-MAX_CENTS).max(MAX_CENTS).openapi({ description: "Its total, in cents." }),
    currency: z.literal("EUR").openapi({ description: "The currency of the total." }),
    period_start: timestampField("The beginning of the month, in UTC."),
    period_end: timestampField("The beginning of the next month, in UTC."),
  })
  .openapi("InvoiceGeneratedData", { description: "The data of an `invoice.generated` event." });

export const ticketUpdatedData = z
  .object({
    ticket_id: idField("The ticket."),
    status: z.enum(TICKET_STATUSES).openapi({ description: "Its status." }),
    severity: z.enum(TICKET_SEVERITIES).openapi({ description: "Its severity." }),
    category: z.enum(TICKET_CATEGORIES).openapi({ description: "Its category." }),
    last_message_author_type: z.enum([...AUTHOR_TYPES, ""]).openapi({
      description: "Who wrote the message that the event is about; empty for a change of the status alone.",
    }),
    updated_at: timestampField("When it changed."),
  })
  .openapi("TicketUpdatedData", { description: "The data of a `ticket.updated` event." });

export const testData = z
  .object({ webhook_id: idField("The webhook that is tested.") })
  .openapi("WebhookTestData", { description: "The data of a `webhook.test` event." });
