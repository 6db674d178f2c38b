import { z } from "@hono/zod-openapi";
import { defineEvent } from "../../events/event-types.ts";
import { idField, textField } from "../../http/contract/fields.ts";

const version = (description: string) => textField(32, description, "1.34.2");

const clusterEventData = z
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

const nodeReplacedData = z
  .object({
    cluster_id: idField("The cluster."),
    node_pool_id: idField("The node pool."),
    old_node: textField(253, "The name of the node that is gone.").nullable(),
    new_node: textField(253, "The name of the node that stands in its place."),
    reason: textField(128, "Why, as a CamelCase word for programs.", "Unhealthy"),
  })
  .openapi("NodeReplacedData", { description: "The data of a `node.replaced` event." });

const CLUSTER = {
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  name: "production",
  k8s_version: "1.34.2",
} as const;

export const clusterCreated = defineEvent({
  type: "cluster.created",
  description: "A cluster was created, by REST or in the Kubernetes API.",
  data: clusterEventData,
  example: { ...CLUSTER, status: "provisioning" },
});

export const clusterReady = defineEvent({
  type: "cluster.ready",
  description: "A cluster is running for the first time.",
  data: clusterEventData,
  example: { ...CLUSTER, status: "running" },
});

export const clusterUpgraded = defineEvent({
  type: "cluster.upgraded",
  description: "The control plane and all nodes of a cluster run another Kubernetes version.",
  data: clusterEventData,
  example: { ...CLUSTER, status: "running", k8s_version: "1.35.0", previous_version: "1.34.2" },
});

export const clusterDegraded = defineEvent({
  type: "cluster.degraded",
  description: "A cluster that was running has lost its API endpoint or nodes.",
  data: clusterEventData,
  example: { ...CLUSTER, status: "degraded", reason: "EndpointUnreachable" },
});

export const clusterDeleted = defineEvent({
  type: "cluster.deleted",
  description: "A cluster and all its machines are gone.",
  data: clusterEventData,
  example: { ...CLUSTER, status: "deleting" },
});

export const nodeReplaced = defineEvent({
  type: "node.replaced",
  description: "A node was replaced, because it was unhealthy or on request.",
  data: nodeReplacedData,
  example: {
    cluster_id: CLUSTER.cluster_id,
    node_pool_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
    old_node: "production-web-x7k2p",
    new_node: "production-web-9fq4z",
    reason: "Unhealthy",
  },
});
