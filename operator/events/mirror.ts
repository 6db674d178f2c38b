import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import {
  engineClusterKind,
  engineClusterNameOf,
  enginePoolNameOf,
  isEngineGroup,
  isMachineKind,
  type Machine,
} from "../engine/kinds.ts";
import { INDEX_INFRASTRUCTURE, INDEX_NAMESPACE } from "../indexes.ts";

/** Who tells: the engine's own decisions, a machine of the cluster, or what carries the machine. */
type Source = "operator" | "machine" | "hypervisor";

/** What an Event of the engine is about, in Marina's objects. */
export interface EventSubject {
  cluster: Cluster;
  pool: NodePool | undefined;
  source: Source;
}

/** Whether an Event may be about the engine: neither about Kubernetes' own kinds nor about ours. */
export function mayConcernEngine(event: Event): boolean {
  const group = event.regarding?.apiVersion?.split("/")[0] ?? "";
  return (
    (group.includes(".") && group !== clusterKind.group && !group.endsWith(".k8s.io")) || isEngineGroup(group)
  );
}

/**
 * Finds the cluster and the pool that an Event of the engine is about; undefined for any other Event. By the labels of
 * the Machine or MachineDeployment, by the Machine that an infrastructure object carries, and for what is gone or
 * unlabelled by the name: the engine's names begin with "<cluster>-<pool>-".
 */
export function findSubject(caches: Caches, event: Event): EventSubject | undefined {
  const { regarding } = event;
  const namespace = regarding?.namespace;
  const { kind, name } = regarding ?? {};
  if (namespace === undefined || kind === undefined || name === undefined) return undefined;
  if (!mayConcernEngine(event)) return undefined;
  const key = `${namespace}/${name}`;
  const [carried] = caches.machines.byIndex(INDEX_INFRASTRUCTURE, `${namespace}/${kind}/${name}`);
  const group = regarding?.apiVersion?.split("/")[0] ?? "";
  if (carried === undefined && !isEngineGroup(group)) return undefined;
  const source = carried !== undefined ? "hypervisor" : isMachineKind(kind) ? "machine" : "operator";
  if (kind === engineClusterKind.kind) return subjectOf(caches, namespace, name, undefined, source);
  const labelled: Pick<Machine, "metadata"> | undefined =
    carried ?? caches.machines.get(key) ?? caches.machineDeployments.get(key);
  const clusterName = labelled && engineClusterNameOf(labelled.metadata);
  if (labelled !== undefined && clusterName !== undefined) {
    return subjectOf(caches, namespace, clusterName, enginePoolNameOf(labelled.metadata), source);
  }
  return subjectByName(caches, namespace, name, source);
}

function subjectOf(
  caches: Caches,
  namespace: string,
  clusterName: string,
  poolName: string | undefined,
  source: Source,
): EventSubject | undefined {
  const cluster = caches.clusters.get(`${namespace}/${clusterName}`);
  const pool = poolName === undefined ? undefined : caches.nodePools.get(`${namespace}/${poolName}`);
  return cluster && { cluster, pool, source };
}

function subjectByName(
  caches: Caches,
  namespace: string,
  name: string,
  source: Source,
): EventSubject | undefined {
  const longest = <T extends { metadata: { name: string } }>(objects: T[], prefix: string) =>
    objects
      .filter((object) => `${name}-`.startsWith(`${prefix}${object.metadata.name}-`))
      .sort((left, right) => right.metadata.name.length - left.metadata.name.length)[0];
  const cluster = longest(caches.clusters.byIndex(INDEX_NAMESPACE, namespace), "");
  if (cluster === undefined) return undefined;
  const pools = caches.nodePools
    .byIndex(INDEX_NAMESPACE, namespace)
    .filter((pool) => pool.spec.clusterName === cluster.metadata.name);
  return { cluster, pool: longest(pools, `${cluster.metadata.name}-`), source };
}

/**
 * The Event as it stands on the Marina Cluster: same words, `related` is the engine's object. One Event of the engine is
 * one of ours, however often it is counted or read again.
 */
export function mirrorEvent(event: Event, subject: EventSubject): RecordedEvent | undefined {
  const { cluster, pool, source } = subject;
  const { regarding, reason } = event;
  const clusterId = cluster.metadata.labels?.[LABEL_ID];
  if (!regarding?.kind || !regarding.name || !reason || clusterId === undefined) return undefined;
  const poolId = pool?.metadata.labels?.[LABEL_ID];
  const { apiVersion = "", kind, namespace, name, uid } = regarding;
  // Events of before 2019's API carry times and counts in fields of their own.
  const at = event.eventTime ?? event.deprecatedFirstTimestamp ?? event.metadata.creationTimestamp;
  const count = event.series?.count ?? event.deprecatedCount ?? 1;
  return {
    regarding: referTo(clusterKind, cluster.metadata),
    related: { apiVersion, kind, namespace, name, uid },
    type: event.type === "Warning" ? "Warning" : "Normal",
    reason,
    action: "Mirror",
    note: composeNote(`${kind} ${name}`, event.note ?? reason),
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

/** The engine names the object in some of its notes only. */
function composeNote(object: string, note: string): string {
  return note.startsWith(object) ? note : `${object}: ${note}`;
}
