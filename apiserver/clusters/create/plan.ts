import { findUnsupportedReason, type PlanCapabilities } from "../../../shared/crd/class-capabilities.ts";
import { resolveVersion, type VersionCatalogue } from "../../../shared/crd/kubernetes-version.ts";
import type { ErrorDetail } from "../../http/errors.ts";
import {
  checkPoolCapabilities,
  checkPoolRules,
  type NewNodePool,
  toNodePoolSpec,
} from "../../node-pools/index.ts";
import { refuseUnsupported } from "../../resources/capabilities.ts";
import { maskCidrs } from "../authorized-cidrs.ts";
import type { CreateClusterBody } from "../schema.ts";
import { unknownVersion } from "../upgrade-step.ts";
import type { NewCluster } from "./create-cluster.ts";

/** The ids and names of a create, which its caller generates. */
export interface CreateIdentity {
  orgId: string;
  namespace: string;
  clusterId: string;
  objectName: string;
  requestId: string;
  nodePools: { id: string; objectName: string }[];
}

/**
 * Every fault of a create beyond its schema: the version must be in the catalogue, the class of the plan must have what is asked
 * of it as far as that is known, the pools must hold the rules between their fields and have unique names.
 */
export function checkCreate(
  body: CreateClusterBody,
  catalogue: VersionCatalogue,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const details = refuseList(body, capabilities);
  if (resolveVersion(catalogue, body.k8s_version) === undefined)
    details.push({ field: "k8s_version", ...unknownVersion(catalogue) });
  const names = new Set<string>();
  for (const [index, pool] of (body.node_pools ?? []).entries()) {
    const place = `node_pools[${index}]`;
    for (const detail of checkPoolRules(toNodePoolSpec(pool, "")))
      details.push({ ...detail, field: detail.field === "body" ? place : `${place}.${detail.field}` });
    details.push(...checkPoolCapabilities(pool, capabilities, `${place}.`));
    const key = pool.name.toLowerCase();
    if (names.has(key))
      details.push({ field: `${place}.name`, code: "duplicate", message: "must be given once" });
    names.add(key);
  }
  return details;
}

function refuseList(
  { authorized_cidrs: cidrs = [] }: CreateClusterBody,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  return cidrs.length === 0 ? [] : refuseUnsupported("authorized_cidrs", capabilities?.authorizedCIDRs);
}

/**
 * What a create that is accepted waits for: a private endpoint and a package on offer always are, and nothing is made where the
 * platform does not have them.
 */
export function findCreateWarnings(
  body: CreateClusterBody,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const missing = {
    plan: findUnsupportedReason(capabilities?.class),
    public_endpoint: body.public_endpoint ? undefined : findUnsupportedReason(capabilities?.privateEndpoint),
  };
  return Object.entries(missing).flatMap(([field, reason]) => {
    if (reason === undefined) return [];
    const message = `${reason} Nothing of the cluster is made until the platform has it: choose another value, or ask the platform's operator.`;
    return [{ field, code: "unsupported" as const, message }];
  });
}

/** The create request of a body that has passed `checkCreate` with the same catalogue. */
export function planCreate(
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
      ...(body.plan === undefined || body.plan === null ? {} : { plan: body.plan }),
      ...(cidrs === undefined || cidrs.length === 0
        ? {}
        : { network: { authorizedCIDRs: maskCidrs(cidrs) } }),
    },
    ...(cidrs === undefined ? {} : { sentCidrs: cidrs }),
    nodePools,
  };
}
