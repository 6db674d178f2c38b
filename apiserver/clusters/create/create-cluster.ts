import { type Cluster, type ClusterSpec, clusterKind } from "../../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../../shared/crd/names.ts";
import { CLUSTER_AMOUNTS, NO_AMOUNTS } from "../../../shared/crd/quota.ts";
import { assessCost, type PlannedCluster, requireOffered } from "../../billing/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { Caller } from "../../http/contract/caller.ts";
import type { ErrorDetail } from "../../http/errors.ts";
import {
  amountsOfCreate,
  type Effects,
  effectsOfCreate,
  type NewNodePool,
  type ObjectPlace,
  planPool,
  sumEffects,
  toNewObject,
} from "../../node-pools/index.ts";
import { ensureNamespace } from "../../organizations/index.ts";
import { assessQuota } from "../../quotas/index.ts";
import { findCluster, hasRecord, type ProjectedCluster } from "../../resources/project/index.ts";
import { createObject, type WriteResult } from "../../resources/write/index.ts";
import { annotateSentCidrs } from "../authorized-cidrs.ts";
import { auditCluster } from "../present.ts";
import { clustersOf } from "../resource.ts";

/** A create request: the cluster and its pools, with every id and object name. */
export interface NewCluster extends ObjectPlace {
  objectName: string;
  spec: ClusterSpec;
  /** The blocks as they were sent; `spec` holds those that are applied. */
  sentCidrs?: string[];
  nodePools: NewNodePool[];
}

/**
 * Creates a cluster exactly once: its pools first, and the Cluster last. Safe to repeat with the same id, also after a crash
 * at any point. Throws 422 quota_exceeded, 422 for a plan that is not offered, and what `createObject` throws. A dry run
 * stores nothing but a Namespace that was missing.
 */
export async function createCluster(
  deps: Deps,
  caller: Caller,
  desired: NewCluster,
  { dryRun, warnings = [] }: { dryRun: boolean; warnings?: readonly ErrorDetail[] },
): Promise<WriteResult<ProjectedCluster, Effects>> {
  const { orgId, clusterId, objectName, spec, nodePools } = desired;
  // What exists is found without the Kubernetes API.
  if (!(await hasRecord(deps.db, "cluster", orgId, clusterId))) await ensureNamespace(deps, orgId);
  const assess = (db: Queryable) =>
    assessQuota(db, { orgId, defaults: deps.config.quotas }, quotaAmountsOf(desired));
  return createObject(deps, caller, clustersOf(orgId), {
    action: "cluster.create",
    dryRun,
    parts: nodePools.map((pool) => toNewObject(desired, pool)),
    created: {
      id: clusterId,
      object: toClusterObject(desired),
      name: spec.displayName ?? objectName,
      amounts: CLUSTER_AMOUNTS,
    },
    after: {
      ...auditCluster(spec, objectName),
      node_pools: nodePools.map((pool) => pool.spec.displayName),
    },
    async check(tx) {
      if (spec.plan !== undefined) await requireOffered(tx, spec.plan);
      await assess(tx);
    },
    effects: async (db) => ({
      quota: await assess(db),
      ...sumEffects(nodePools.map((pool) => effectsOfCreate(pool.spec))),
      warnings: [...warnings],
      cost: await assessCost(db, deps.now(), { cluster: undefined, pools: [] }, planCluster(desired)),
    }),
    findServed: (db) => findCluster(db, orgId, clusterId),
  });
}

function quotaAmountsOf({ clusterId, nodePools }: NewCluster) {
  const own = { objectId: clusterId, current: NO_AMOUNTS, desired: CLUSTER_AMOUNTS };
  return [own, ...nodePools.map(({ id, spec }) => amountsOfCreate(id, spec))];
}

function planCluster({ spec, nodePools }: NewCluster): PlannedCluster {
  const pools = nodePools.map(({ id, spec: pool }) => planPool(id, pool, undefined));
  return { cluster: { spec }, pools };
}

/**
 * The Cluster object to create. It has the operator's finalizer from the start: a cluster that is deleted before the
 * operator has observed it is still cleaned up, with the pools that were created with it.
 */
export function toClusterObject(request: NewCluster): Cluster {
  return {
    apiVersion: API_VERSION,
    kind: clusterKind.kind,
    metadata: {
      namespace: request.namespace,
      name: request.objectName,
      labels: { [LABEL_ID]: request.clusterId, [LABEL_ORG_ID]: request.orgId },
      annotations: {
        [ANNOTATION_REQUEST_ID]: request.requestId,
        [ANNOTATION_IDENTITY]: "new",
        ...(request.sentCidrs === undefined ? {} : annotateSentCidrs(request.sentCidrs)),
      },
      finalizers: [FINALIZER],
    },
    spec: request.spec,
  };
}
