import { z } from "@hono/zod-openapi";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";

const NODE_STATUSES = ["provisioning", "ready", "not_ready", "deleting", "failed"] as const;
export type NodeStatusName = (typeof NODE_STATUSES)[number];

const MAX_NODE_NAME_LENGTH = 253;
const MAX_NODE_CONDITIONS = 32;
const EXAMPLE_NAME = "general-7xk2p-9wq4d";

const nodeCondition = z
  .object({
    type: textField(64, "What the condition is about.", "Ready"),
    status: z.enum(["True", "False", "Unknown"]).openapi({ description: "Whether it holds." }),
  })
  .openapi("NodeCondition", { description: "One condition." });

export const nodeRecord = z
  .object({
    id: idField("The machine; a replacement has another id."),
    node_pool_id: idField("The node pool that it belongs to."),
    name: textField(
      MAX_NODE_NAME_LENGTH,
      "Name of the node; of its machine until the node has joined.",
      EXAMPLE_NAME,
    ),
    status: z.enum(NODE_STATUSES).openapi({ description: "Summary of the state." }),
    replacing: z.boolean().openapi({
      description:
        "Whether the node is being replaced, or is about to be: on request, as unhealthy, or for a new version or size.",
    }),
    version: textField(16, "Kubernetes version that it runs; null until reported.", "1.34.2").nullable(),
    conditions: z
      .array(nodeCondition)
      .max(MAX_NODE_CONDITIONS)
      .openapi({ description: "The conditions of the node." }),
    created_at: timestampField("When its machine was created."),
  })
  .openapi("Node", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
      node_pool_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
      name: EXAMPLE_NAME,
      status: "ready",
      replacing: false,
      version: "1.34.2",
      conditions: [{ type: "Ready", status: "True" }],
      created_at: "2026-11-21T09:00:00.000Z",
    },
  });

export const nodePage = pageSchema(nodeRecord, "NodePage");

const NODE_NAME_MESSAGE = `must be the name of a node, as ${EXAMPLE_NAME}`;

/** The name of a Kubernetes node: a DNS subdomain (RFC 1123). */
export const nodeName = z
  .string()
  .max(MAX_NODE_NAME_LENGTH, { error: NODE_NAME_MESSAGE })
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: NODE_NAME_MESSAGE })
  .openapi({ description: "The name of the node.", example: EXAMPLE_NAME });
