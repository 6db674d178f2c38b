import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { actionOfEvent, groupOf } from "../capi/events.ts";
import { isMachineKind } from "../capi/kinds.ts";
import { toTenantWords } from "../capi/tenant-words.ts";
import { displayNameOf } from "../identity/identity.ts";
import type { EventSubject } from "./subject.ts";

/**
 * The Event for the Marina Cluster, with the same text in the words of tenants; `related` is Cluster API's object. One
 * Event of Cluster API is one of ours, however often it is counted or read again. Undefined while the cluster has no id.
 */
export function mirrorEvent(event: Event, subject: EventSubject): RecordedEvent | undefined {
  const { cluster, pool, source } = subject;
  const { regarding, reason } = event;
  const clusterId = idOf(cluster);
  if (!regarding?.kind || !regarding.name || !reason || clusterId === undefined) return undefined;
  const poolId = pool && idOf(pool);
  const { apiVersion = "", kind, namespace, name, uid } = regarding;
  // Events of the core API have other fields for times and counts.
  const at = event.eventTime ?? event.deprecatedFirstTimestamp ?? event.metadata.creationTimestamp;
  // A repetition about a Machine is written up to a minute later, when the Machine may be replaced already.
  const count = kind === "Machine" ? 1 : (event.series?.count ?? event.deprecatedCount ?? 1);
  return {
    regarding: referTo(clusterKind, cluster.metadata),
    related: { apiVersion, kind, namespace, name, uid },
    type: event.type === "Warning" ? "Warning" : "Normal",
    reason,
    action: actionOfEvent(event),
    note: composeNote(event, subject),
    labels: {
      [LABEL_CLUSTER_ID]: clusterId,
      ...(poolId !== undefined && { [LABEL_NODE_POOL_ID]: poolId }),
      [LABEL_SOURCE]: source,
    },
    dedupeKey: `mirror/${event.metadata.uid}`,
    ...(at !== undefined && { at: new Date(at) }),
    count,
  };
}

/** Whether an Event is one of `mirrorEvent`: about an object of ours, with Cluster API's object as the related one. */
export function isMirror({ regarding, related }: Event): boolean {
  return groupOf(regarding?.apiVersion) === clusterKind.group && related != null;
}

/** Cluster API names the object in some of its notes only. */
function composeNote({ regarding, note, reason = "" }: Event, { cluster, pool }: EventSubject): string {
  const { kind = "", name = "" } = regarding ?? {};
  const words = toTenantWords(note ?? reason) || reason;
  if (words.startsWith(`${kind} ${name}`)) return words;
  return `${nameObject(kind, name, cluster, pool)}: ${words}`;
}

/** A machine by its name, which its node has as well; anything else by what it belongs to. */
function nameObject(kind: string, name: string, cluster: Cluster, pool: NodePool | undefined): string {
  if (kind.endsWith("Machine")) return `Machine ${name}`;
  if (kind.endsWith("ControlPlane")) return "Control plane";
  if (!isMachineKind(kind) || pool === undefined) {
    return `Cluster ${displayNameOf(cluster)}`;
  }
  return `Node pool ${displayNameOf(pool)}`;
}
