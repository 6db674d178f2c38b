import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import {
  type EventSource,
  groupOf,
  isCapiEvent,
  isClusterEvent,
  isTold,
  sourceOfEvent,
} from "../capi/events.ts";
import { capiClusterNameOf, capiPoolNameOf } from "../capi/kinds.ts";
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
 * ours, and it is to be shown (`isTold`).
 */
export function mayBeMirrored(event: Event): boolean {
  const group = groupOf(event.regarding?.apiVersion);
  const isForeign = group.includes(".") && group !== clusterKind.group && !group.endsWith(".k8s.io");
  return (isForeign || isCapiEvent(event)) && isTold(event);
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
