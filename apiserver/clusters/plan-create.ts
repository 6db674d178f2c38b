import { resolveVersion, type VersionCatalogue } from "../../shared/kubernetes-version.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { checkPoolRules, type NewNodePool, toNodePoolSpec } from "../node-pools/store.ts";
import type { NewCluster } from "./new-cluster.ts";
import type { CreateClusterBody } from "./schema.ts";

/** What a plan takes from outside: every id and name is made by the caller. */
export interface CreateIdentity {
  orgId: string;
  namespace: string;
  clusterId: string;
  objectName: string;
  requestId: string;
  nodePools: { id: string; objectName: string }[];
}

/**
 * Everything that can be wrong with a create beyond its schema: the version has to be in the catalogue, the pools
 * hold the rules between their fields and have names of their own.
 */
export function checkCreate(body: CreateClusterBody, catalogue: VersionCatalogue): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  if (resolveVersion(catalogue, body.k8s_version) === undefined)
    details.push({
      field: "k8s_version",
      code: "invalid_enum",
      message: `must be a supported version: ${supportedOf(catalogue).join(", ")}`,
    });
  const names = new Set<string>();
  for (const [index, pool] of (body.node_pools ?? []).entries()) {
    const place = `node_pools[${index}]`;
    for (const detail of checkPoolRules(toNodePoolSpec(pool, "")))
      details.push({ ...detail, field: detail.field === "body" ? place : `${place}.${detail.field}` });
    const key = pool.name.toLowerCase();
    if (names.has(key))
      details.push({ field: `${place}.name`, code: "duplicate", message: "must be unique in the cluster" });
    names.add(key);
  }
  return details;
}

/** The whole create as it will be written. The body must have passed `checkCreate` with the same catalogue. */
export function planCreate(
  body: CreateClusterBody,
  catalogue: VersionCatalogue,
  identity: CreateIdentity,
): NewCluster {
  const { orgId, namespace, clusterId, objectName, requestId } = identity;
  const version = resolveVersion(catalogue, body.k8s_version) ?? body.k8s_version;
  const cidrs = body.authorized_cidrs;
  const nodePools = (body.node_pools ?? []).map((pool, index): NewNodePool => {
    const made = identity.nodePools[index];
    if (made === undefined) throw new RangeError("a pool without an identity");
    return { ...made, spec: toNodePoolSpec(pool, objectName) };
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
      ...(body.plan === undefined ? {} : { plan: body.plan }),
      ...(cidrs === undefined || cidrs.length === 0 ? {} : { network: { authorizedCIDRs: cidrs } }),
    },
    nodePools,
  };
}

function supportedOf(catalogue: VersionCatalogue): string[] {
  return catalogue.filter(({ status }) => status === "supported").map(({ version }) => version);
}
