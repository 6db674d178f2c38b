import { referTo } from "../../shared/controller/event-object.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import {
  actionOfEvent,
  type EventSource,
  groupOf,
  isCapiEvent,
  isClusterEvent,
  isShown,
  sentenceOfEvent,
  sourceOfEvent,
} from "../capi/events.ts";
import { capiClusterKind, capiClusterNameOf, capiPoolNameOf, isMachineKind } from "../capi/kinds.ts";
import { toTenantMessage } from "../capi/tenant-messages.ts";
import { displayNameOf } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_INFRASTRUCTURE, INDEX_NAMESPACE } from "../indexes.ts";

/** What a Cluster API Event is about, as Marina's objects. */
export interface EventSubject {
  cluster: Cluster;
  pool: NodePool | undefined;
  source: EventSource;
}

/**
 * Whether an Event may be mirrored: it is about Cluster API or a provider, neither about Kubernetes' own kinds nor about
 * ours, and it is to be shown (`isShown`).
 */
export function mayBeMirrored(event: Event): boolean {
  const group = groupOf(event.regarding?.apiVersion);
  const isForeign = group.includes(".") && group !== clusterKind.group && !group.endsWith(".k8s.io");
  return (isForeign || isCapiEvent(event)) && isShown(event);
}

/**
 * The cluster and the pool that an Event of Cluster API is about; undefined for any other Event. They are found by the
 * labels of the Machine or MachineDeployment, by the Machine that an infrastructure object hosts, and for deleted or
 * unlabelled objects by the name: Cluster API's names begin with "<cluster>-<pool>-".
 */
export function findSubject(caches: Caches, event: Event): EventSubject | undefined {
  const { namespace, kind, name } = event.regarding ?? {};
  if (namespace === undefined || kind === undefined || name === undefined) return undefined;
  if (!mayBeMirrored(event)) return undefined;
  const [hosted] = caches.machines.byIndex(INDEX_INFRASTRUCTURE, toKey(namespace, toKey(kind, name)));
  if (hosted === undefined && !isCapiEvent(event)) return undefined;
  const source = sourceOfEvent(kind, hosted !== undefined);
  if (isClusterEvent(event)) return subjectOf(caches, namespace, name, undefined, source);
  const key = toKey(namespace, name);
  const labelled = hosted ?? caches.machines.get(key) ?? caches.machineDeployments.get(key);
  const clusterName = labelled && capiClusterNameOf(labelled.metadata);
  if (labelled !== undefined && clusterName !== undefined) {
    return subjectOf(caches, namespace, clusterName, capiPoolNameOf(labelled.metadata), source);
  }
  return subjectByName(caches, namespace, name, source);
}

function subjectOf(
  caches: Caches,
  namespace: string,
  clusterName: string,
  poolName: string | undefined,
  source: EventSource,
): EventSubject | undefined {
  const key = toKey(namespace, clusterName);
  const cluster = findCapi(caches, key).nameTaken ? undefined : caches.clusters.get(key);
  const pool = poolName === undefined ? undefined : caches.nodePools.get(toKey(namespace, poolName));
  return cluster && { cluster, pool, source };
}

function subjectByName(
  caches: Caches,
  namespace: string,
  name: string,
  source: EventSource,
): EventSubject | undefined {
  const longest = <T extends { metadata: { name: string } }>(objects: T[], prefix: string) =>
    objects
      .filter((object) => `${name}-`.startsWith(`${prefix}${object.metadata.name}-`))
      .sort((left, right) => right.metadata.name.length - left.metadata.name.length)[0];
  const cluster = longest(caches.clusters.byIndex(INDEX_NAMESPACE, namespace), "");
  if (cluster === undefined || findCapi(caches, objectKey(cluster)).nameTaken) return undefined;
  const pools = caches.nodePools
    .byIndex(INDEX_NAMESPACE, namespace)
    .filter((pool) => pool.spec.clusterName === cluster.metadata.name);
  return { cluster, pool: longest(pools, `${cluster.metadata.name}-`), source };
}

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
  const lastAt = event.series?.lastObservedTime ?? event.deprecatedLastTimestamp;
  // A repetition about a Machine is written up to a minute later, when the Machine may be replaced already. What the cluster has
  // reached it has reached once; Cluster API says it again after a conflict.
  const isOnce = kind === "Machine" || (kind === capiClusterKind.kind && event.type !== "Warning");
  const count = isOnce ? 1 : (event.series?.count ?? event.deprecatedCount ?? 1);
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
    ...(lastAt && count > 1 && { lastAt: new Date(lastAt) }),
    count,
  };
}

/** Whether an Event is one of `mirrorEvent`: about an object of ours, with Cluster API's object as the related one. */
function isMirror({ regarding, related }: Event): boolean {
  return groupOf(regarding?.apiVersion) === clusterKind.group && related != null;
}

/** Cluster API names the object in some of its notes only. */
function composeNote(event: Event, { cluster, pool }: EventSubject): string {
  const { regarding, note, reason = "" } = event;
  const { kind = "", name = "" } = regarding ?? {};
  const words = withOwnName(sentenceOfEvent(event) ?? (toTenantMessage(note ?? reason) || reason), cluster);
  const object = nameObject(kind, name, cluster, pool);
  const isNamed = words.startsWith(object) || words.startsWith(`${kind} ${name}`);
  return isNamed ? words : `${object}: ${words}`;
}

/** With what its owner calls the cluster in place of its name in Kubernetes, after "cluster" or at the beginning. */
function withOwnName(words: string, cluster: Cluster): string {
  const name = cluster.metadata.name.replaceAll(".", "\\.");
  const named = new RegExp(`(\\b[Cc]luster "?|^")${name}(?![\\w-])`, "g");
  return words.replaceAll(named, (_, before: string) => `${before}${displayNameOf(cluster)}`);
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

/**
 * Keeps of an Event the fields that are mirrored; the others would be most of the cache. Undefined, so that it is not
 * cached, for one that neither may be mirrored nor is a mirror.
 */
export function trimEvent(event: Event): Event | undefined {
  if (!mayBeMirrored(event) && !isMirror(event)) return undefined;
  const { apiVersion, kind, metadata, regarding, type, reason, action, note, eventTime, series } = event;
  const { deprecatedCount, deprecatedFirstTimestamp, deprecatedLastTimestamp } = event;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const kept = { name, namespace, uid, resourceVersion, creationTimestamp };
  const dropsUndefined = (object: object) =>
    Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
  return dropsUndefined({
    apiVersion,
    kind,
    metadata: dropsUndefined(kept),
    regarding,
    type,
    reason,
    action,
    note,
    eventTime,
    series,
    deprecatedCount,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
  }) as unknown as Event;
}
