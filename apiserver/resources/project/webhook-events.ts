import type { EventData, NewWebhookEvent } from "../../outbox/index.ts";
import { isPool, type ProjectedCluster, type ProjectedNodePool, type ProjectedObject } from "./project.ts";
import type { TransitionEntry } from "./transitions.ts";

/** The status that a cluster enters by a transition, and the webhook event for it (spec 6.1). */
const CLUSTER_EVENTS = {
  created: { type: "cluster.created", status: "provisioning" },
  ready: { type: "cluster.ready", status: "running" },
  upgraded: { type: "cluster.upgraded", status: "running" },
  degraded: { type: "cluster.degraded", status: "degraded" },
  deleted: { type: "cluster.deleted", status: "deleting" },
} as const;

/** The webhook event of a transition that was just recorded; undefined for those that have none. */
export function webhookEventOf(
  object: ProjectedObject,
  entry: Pick<TransitionEntry, "type" | "at" | "details">,
): NewWebhookEvent | undefined {
  return isPool(object) ? eventOfPool(object, entry) : eventOfCluster(object, entry);
}

function eventOfCluster(
  { id, orgId, displayName, object }: ProjectedCluster,
  { type, at, details }: Pick<TransitionEntry, "type" | "at" | "details">,
): NewWebhookEvent | undefined {
  if (!isClusterEvent(type)) return undefined;
  const event = CLUSTER_EVENTS[type];
  const { version, previousVersion, reason } = details;
  const data: EventData<"cluster.ready"> = {
    cluster_id: id,
    org_id: orgId,
    name: displayName,
    status: event.status,
    k8s_version: version ?? object.status?.version ?? object.status?.targetVersion ?? object.spec.version,
    ...(previousVersion !== undefined && { previous_version: previousVersion }),
    ...(reason !== undefined && { reason }),
  };
  return { orgId, type: event.type, occurredAt: at, data };
}

function isClusterEvent(type: string): type is keyof typeof CLUSTER_EVENTS {
  return Object.hasOwn(CLUSTER_EVENTS, type);
}

function eventOfPool(
  { id, orgId, clusterId }: ProjectedNodePool,
  { type, at, details }: Pick<TransitionEntry, "type" | "at" | "details">,
): NewWebhookEvent | undefined {
  if (type !== "node_replaced") return undefined;
  const { oldNode, newNode, reason } = details;
  const data: EventData<"node.replaced"> = {
    cluster_id: clusterId,
    node_pool_id: id,
    old_node: oldNode ?? null,
    new_node: newNode ?? "",
    reason: reason ?? "Unknown",
  };
  return { orgId, type: "node.replaced", occurredAt: at, data };
}
