import { z } from "@hono/zod-openapi";
import { pageSchema } from "../http/page.ts";

const NODE_STATUSES = ["provisioning", "ready", "not_ready", "deleting", "failed"] as const;
export type NodeStatusName = (typeof NODE_STATUSES)[number];

export const nodeRecord = z
  .object({
    id: z.guid().openapi({ description: "Of the machine; a machine made anew has another." }),
    node_pool_id: z.guid(),
    name: z.string().openapi({ description: "Of the node; of its machine until the node has joined." }),
    status: z.enum(NODE_STATUSES),
    replacing: z.boolean().openapi({ description: "Whether another node is about to take its place." }),
    version: z.string().nullable().openapi({ description: "Kubernetes version that it runs." }),
    conditions: z.array(z.object({ type: z.string(), status: z.enum(["True", "False", "Unknown"]) })),
    created_at: z.iso.datetime(),
  })
  .openapi("Node");

export const nodePage = pageSchema(nodeRecord, "NodePage");

/** The name of a Kubernetes node: a DNS subdomain (RFC 1123). */
export const nodeName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
