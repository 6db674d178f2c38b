import { type Cluster, type ClusterSpec, clusterKind } from "../../../shared/crd/cluster.ts";
import { resolveVersion, type VersionCatalogue } from "../../../shared/crd/kubernetes-version.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../../shared/crd/names.ts";
import {
  type ClassCapabilitiesByPlan,
  findUnsupportedReason,
  type PlanCapabilities,
} from "../../../shared/crd/published-config.ts";
import { CLUSTER_AMOUNTS, NO_AMOUNTS } from "../../../shared/crd/quota.ts";
import { assessCost, type BilledCluster, requireOffered } from "../../billing/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { Caller } from "../../http/contract/caller.ts";
import { type ErrorDetail, validationFailed } from "../../http/errors.ts";
import {
  amountsOfCreate,
  type Effects,
  effectsOfCreate,
  findPastExpiry,
  findPoolViolations,
  findUnsupportedOfPool,
  type NewNodePool,
  type ObjectPlace,
  sumEffects,
  toBilledPool,
  toNewObject,
  toNodePoolSpec,
} from "../../node-pools/index.ts";
import { ensureNamespace } from "../../organizations/index.ts";
import { assessQuota } from "../../quotas/index.ts";
import { findUnsupportedCidrs } from "../../resources/platform-config.ts";
import { findCluster, type ProjectedCluster } from "../../resources/project/index.ts";
import { createObject, type WriteResult } from "../../resources/write/index.ts";
import { annotateSentCidrs, maskCidrs } from "../authorized-cidrs.ts";
import { unknownVersion } from "../kubernetes-version.ts";
import { auditCluster } from "../present.ts";
import type { CreateClusterBody } from "../schema.ts";
import { clustersOf } from "../write.ts";

/** The ids and names of a create, which the handler of the request makes. */
interface CreateIdentity {
  orgId: string;
  namespace: string;
  clusterId: string;
  objectName: string;
  requestId: string;
  nodePools: { id: string; objectName: string }[];
}

/**
 * What is wrong with a create beyond schema and plan: the version must be in the catalogue, the class of the plan must have
 * what is asked of it, as far as that is known, the pools must hold the rules between their fields and have unique names.
 */
export function findCreateViolations(
  body: CreateClusterBody,
  catalogue: VersionCatalogue,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const { authorized_cidrs: cidrs = [] } = body;
  const details = cidrs.length === 0 ? [] : findUnsupportedCidrs(maskCidrs(cidrs), capabilities);
  if (resolveVersion(catalogue, body.k8s_version) === undefined)
    details.push({ field: "k8s_version", ...unknownVersion(catalogue) });
  const names = new Set<string>();
  for (const [index, pool] of (body.node_pools ?? []).entries()) {
    const place = `node_pools[${index}]`;
    for (const detail of findPoolViolations(toNodePoolSpec(pool, "")))
      details.push({ ...detail, field: detail.field === "body" ? place : `${place}.${detail.field}` });
    details.push(...findUnsupportedOfPool(pool, capabilities, `${place}.`));
    const key = pool.name.toLowerCase();
    if (names.has(key))
      details.push({ field: `${place}.name`, code: "duplicate", message: "must be given once" });
    names.add(key);
  }
  return details;
}

/** End dates of a cluster and its pools that have passed. */
export function findPastExpiries({ spec, nodePools }: NewCluster, now: Date): ErrorDetail[] {
  return [
    ...findPastExpiry(spec.expiresAt, now),
    ...nodePools.flatMap((pool, index) =>
      findPastExpiry(pool.spec.expiresAt, now, `node_pools[${index}].expires_at`),
    ),
  ];
}

/**
 * What an accepted create waits for: a private endpoint is never refused, and where the class of the plan has none, nothing is
 * made of the cluster until it does.
 */
export function findCreateWarnings(
  body: CreateClusterBody,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const reason = body.public_endpoint ? undefined : findUnsupportedReason(capabilities?.privateEndpoint);
  if (reason === undefined) return [];
  const message = `${reason} Nothing of the cluster is made until the platform has it: choose another value, or ask the platform's operator.`;
  return [{ field: "public_endpoint", code: "unsupported", message }];
}

/** The create request of a body, in which `findCreateViolations` with the same catalogue finds what is wrong. */
export function toNewCluster(
  body: CreateClusterBody,
  catalogue: VersionCatalogue,
  identity: CreateIdentity,
): NewCluster {
  const { orgId, namespace, clusterId, objectName, requestId } = identity;
  const version = resolveVersion(catalogue, body.k8s_version) ?? body.k8s_version;
  const cidrs = body.authorized_cidrs;
  const nodePools = (body.node_pools ?? []).map((pool, index): NewNodePool => {
    const own = identity.nodePools[index];
    if (own === undefined) throw new RangeError("a pool without an identity");
    return { ...own, spec: toNodePoolSpec(pool, objectName) };
  });
  return {
    orgId,
    namespace,
    clusterId,
    objectName,
    requestId,
    spec: {
      displayName: body.name,
      version,
      publicEndpoint: body.public_endpoint,
      ...(body.labels === undefined ? {} : { labels: body.labels }),
      ...(body.deletion_protection === true && { deletionProtection: true }),
      ...(body.upgrade_checks === "enforce" && { upgradeChecks: "Enforce" }),
      ...(body.expires_at instanceof Date && { expiresAt: body.expires_at.toISOString() }),
      ...(body.plan === undefined || body.plan === null ? {} : { plan: body.plan }),
      ...(cidrs === undefined || cidrs.length === 0
        ? {}
        : { network: { authorizedCIDRs: maskCidrs(cidrs) } }),
    },
    ...(cidrs === undefined ? {} : { sentCidrs: cidrs }),
    nodePools,
  };
}

/** A create request: the cluster and its pools, with every id and object name. */
export interface NewCluster extends ObjectPlace {
  objectName: string;
  spec: ClusterSpec;
  /** The blocks as they were sent; `spec` holds those that are applied. */
  sentCidrs?: string[];
  nodePools: NewNodePool[];
}

interface CreateClusterOptions {
  dryRun: boolean;
  /** What is wrong with it. What an earlier attempt has begun is completed all the same. */
  details: readonly ErrorDetail[];
  warnings?: readonly ErrorDetail[];
  /** What classes can do, as far as it is known. */
  published?: ClassCapabilitiesByPlan;
}

/**
 * Creates a cluster exactly once: its pools first, and the Cluster last. Safe to repeat with the same id, also after a crash
 * at any point. Throws 422 quota_exceeded, 422 for a plan that is not offered or a fault, and what `createObject` throws.
 */
export async function createCluster(
  deps: Deps,
  caller: Caller,
  desired: NewCluster,
  { dryRun, details, warnings = [], published = {} }: CreateClusterOptions,
): Promise<WriteResult<ProjectedCluster, Effects>> {
  const { orgId, clusterId, objectName, spec, nodePools } = desired;
  const requireQuota = (db: Queryable) =>
    assessQuota(db, { orgId, defaults: deps.config.quotas }, quotaAmountsOf(desired));
  return createObject(deps, caller, clustersOf(orgId), {
    action: "cluster.create",
    dryRun,
    prepare: ensureNamespace,
    parts: nodePools.map((pool) => toNewObject(desired, pool)),
    newObject: {
      id: clusterId,
      object: toClusterObject(desired),
      displayName: spec.displayName ?? objectName,
      amounts: CLUSTER_AMOUNTS,
    },
    after: {
      ...auditCluster(spec, objectName),
      node_pools: nodePools.map((pool) => pool.spec.displayName),
    },
    async check(tx) {
      const [first, ...others] = details;
      if (first !== undefined) throw validationFailed([first, ...others]);
      if (spec.plan !== undefined) await requireOffered(tx, spec.plan, published);
      await requireQuota(tx);
    },
    effects: async (db) => ({
      quota: await requireQuota(db),
      ...sumEffects(nodePools.map((pool) => effectsOfCreate(pool.spec))),
      warnings: [...warnings],
      cost: await assessCost(db, deps.now(), { cluster: undefined, pools: [] }, toBilledCluster(desired)),
    }),
    findServed: (db) => findCluster(db, orgId, clusterId),
  });
}

function quotaAmountsOf({ clusterId, nodePools }: NewCluster) {
  const own = { objectId: clusterId, current: NO_AMOUNTS, desired: CLUSTER_AMOUNTS };
  return [own, ...nodePools.map(({ id, spec }) => amountsOfCreate(id, spec))];
}

function toBilledCluster({ spec, nodePools }: NewCluster): BilledCluster {
  const pools = nodePools.map(({ id, spec: pool }) => toBilledPool(id, pool, undefined));
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
