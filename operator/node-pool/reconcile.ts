import { isDeepStrictEqual } from "node:util";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { type NodePool, type NodePoolStatus, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { OwnerReference } from "../../shared/kube/kind.ts";
import { findIdentityFault, findMissingMetadata, hasFinalizer } from "../identity.ts";
import type { MetadataChange, Plan } from "../runtime/plan.ts";
import type { RecordedEvent } from "../runtime/recorder.ts";
import { referTo } from "../runtime/reference.ts";
import type { ObservedPool } from "./observe.ts";
import { composePoolStatus } from "./status.ts";

/**
 * What to do for one pool. Its machines are made by the cluster, which puts the pool into its topology; what is left
 * here is the pool's identity, its status, and holding it until its machines are gone.
 */
export function reconcilePool(observed: ObservedPool, now: Date): Plan<NodePoolStatus> {
  const { pool, organization } = observed;
  const { metadata } = pool;
  const deleting = metadata.deletionTimestamp !== undefined;
  if (deleting && isGone(observed)) return release(hasFinalizer(metadata));
  const fault = findIdentityFault(metadata.namespace ?? "", organization, observed.olderTwin);
  const { status, requeueAfterMs } = composePoolStatus(observed, fault, now);
  const changed = !isDeepStrictEqual(status, pool.status);
  return {
    metadata: deleting || fault !== undefined ? undefined : findMetadataChange(observed),
    apply: [],
    remove: [],
    status: changed ? status : undefined,
    events: changed ? composeEvents(observed, status) : [],
    releaseFinalizer: false,
    requeueAfterMs,
  };
}

/**
 * Whether nothing is left of a deleted pool: the engine has acted on a topology without it, and its MachineDeployment
 * and Machines are gone. The same name used earlier would leak the engine's health checks.
 */
function isGone(observed: ObservedPool): boolean {
  return observed.leftTopology && observed.engine === undefined && observed.machines.length === 0;
}

function release(held: boolean): Plan<NodePoolStatus> {
  return {
    metadata: undefined,
    apply: [],
    remove: [],
    status: undefined,
    events: [],
    releaseFinalizer: held,
    requeueAfterMs: undefined,
  };
}

function findMetadataChange(observed: ObservedPool): MetadataChange | undefined {
  const { pool, organization, cluster } = observed;
  if (organization.kind !== "known") return undefined;
  const missing = findMissingMetadata(pool.metadata, organization.id, observed.candidateId);
  const owner = cluster && findMissingOwner(pool, cluster.reference);
  if (missing === undefined && owner === undefined) return undefined;
  return { ...missing, ...(owner && { owner }) };
}

function findMissingOwner(pool: NodePool, cluster: OwnerReference): OwnerReference | undefined {
  const owners = pool.metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.uid === cluster.uid) ? undefined : cluster;
}

/** Events are for people: one for each change of phase, and one when only the user can help. */
function composeEvents(observed: ObservedPool, next: NodePoolStatus): RecordedEvent[] {
  const { pool, cluster } = observed;
  const phase = next.phase ?? "Provisioning";
  if (pool.status?.phase === phase) return [];
  const poolId = pool.metadata.labels?.[LABEL_ID] ?? observed.candidateId;
  const labels = {
    [LABEL_SOURCE]: "operator",
    [LABEL_NODE_POOL_ID]: poolId,
    ...(cluster?.id !== undefined && { [LABEL_CLUSTER_ID]: cluster.id }),
  };
  return [
    {
      regarding: referTo(nodePoolKind, pool.metadata),
      type: phase === "Failed" ? "Warning" : "Normal",
      reason: phase,
      action: "Reconcile",
      note: describe(pool, next),
      labels,
    },
  ];
}

function describe(pool: NodePool, next: NodePoolStatus): string {
  const find = (type: string) => next.conditions?.find((condition) => condition.type === type);
  const name = pool.spec.displayName ?? pool.metadata.name;
  switch (next.phase) {
    case "Ready":
      return `Node pool ${name}: ${next.readyNodes ?? 0} of ${next.nodes ?? 0} nodes are ready.`;
    case "Failed":
      return `Node pool ${name}: ${find("Stalled")?.message ?? "failed"}`;
    case "Deleting":
      return `Node pool ${name} is being deleted.`;
    default:
      return `Node pool ${name}: ${find("Reconciling")?.message ?? "changing"}`;
  }
}
