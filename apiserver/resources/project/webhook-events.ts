import type { z } from "zod";
import { type NewEvent, newEvent } from "../../events/emit.ts";
import {
  clusterCreated,
  clusterDegraded,
  clusterDeleted,
  clusterReady,
  clusterUpgraded,
  nodeReplaced,
} from "./event-schema.ts";
import { isPool, type ProjectedCluster, type ProjectedNodePool, type ProjectedObject } from "./project.ts";
import type { TransitionEntry } from "./transitions.ts";

/** The status that a cluster enters by a transition, and the webhook event for it (spec 6.1). */
const CLUSTER_EVENTS = {
  created: { definition: clusterCreated, status: "provisioning" },
  ready: { definition: clusterReady, status: "running" },
  upgraded: { definition: clusterUpgraded, status: "running" },
  degraded: { definition: clusterDegraded, status: "degraded" },
  deleted: { definition: clusterDeleted, status: "deleting" },
} as const;

/** The webhook event of a transition that was just recorded; undefined for those that have none. */
export function webhookEventOf(
  object: ProjectedObject,
  entry: Pick<TransitionEntry, "type" | "at" | "details">,
): NewEvent | undefined {
  return isPool(object) ? eventOfPool(object, entry) : eventOfCluster(object, entry);
}

function eventOfCluster(
  { id, orgId, displayName, object }: ProjectedCluster,
  { type, at, details }: Pick<TransitionEntry, "type" | "at" | "details">,
): NewEvent | undefined {
  if (!isClusterEvent(type)) return undefined;
  const { definition, status } = CLUSTER_EVENTS[type];
  const { version, previousVersion, reason } = details;
  const data: z.output<typeof definition.data> = {
    cluster_id: id,
    org_id: orgId,
    name: displayName,
    status,
    k8s_version: version ?? object.status?.version ?? object.status?.targetVersion ?? object.spec.version,
    ...(previousVersion !== undefined && { previous_version: previousVersion }),
    ...(reason !== undefined && { reason }),
  };
  return newEvent(definition, { orgId, occurredAt: at, data });
}

function isClusterEvent(type: string): type is keyof typeof CLUSTER_EVENTS {
  return Object.hasOwn(CLUSTER_EVENTS, type);
}

function eventOfPool(
  { id, orgId, clusterId }: ProjectedNodePool,
  { type, at, details }: Pick<TransitionEntry, "type" | "at" | "details">,
): NewEvent | undefined {
  if (type !== "node_replaced") return undefined;
  const { oldNode, newNode, reason } = details;
  const data = {
    cluster_id: clusterId,
    node_pool_id: id,
    old_node: oldNode ?? null,
    new_node: newNode ?? "",
    reason: reason ?? "Unknown",
  };
  return newEvent(nodeReplaced, { orgId, occurredAt: at, data });
}
