import { isDeepStrictEqual } from "node:util";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import { ANNOTATION_NETWORK_REQUEST_ID, MANAGER_APISERVER_NETWORK } from "../../shared/crd/names.ts";
import type { PlanCapabilities } from "../../shared/crd/published-config.ts";
import {
  annotateSentCidrs,
  clustersOf,
  findSentCidrs,
  maskCidrs,
  requireChangeable,
} from "../clusters/index.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import type { Preconditions } from "../http/contract/etag.ts";
import { requireUnchanged } from "../http/contract/fields.ts";
import { type ErrorDetail, validationFailed } from "../http/errors.ts";
import {
  type CapabilitiesReader,
  findClusterCapabilities,
  findUnsupported,
  findUnsupportedCidrs,
} from "../resources/platform-config.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { changeObject } from "../resources/write/index.ts";
import { auditNetworkPolicy } from "./present.ts";
import type { SetNetworkPolicyBody } from "./schema.ts";

/**
 * Replaces the network policy of a cluster, under a separate field manager, whose time is the policy's updated_at. An
 * unchanged policy is not written. Throws 422 for another cluster_id and for what the class does not have, 409
 * conflict, and what `changeObject` throws.
 */
export async function setNetworkPolicy(
  deps: Deps,
  capabilities: CapabilitiesReader,
  caller: Caller,
  cluster: ProjectedCluster,
  body: SetNetworkPolicyBody,
  preconditions: Preconditions | undefined,
): Promise<ProjectedCluster> {
  requireUnchanged({ cluster_id: cluster.id }, body);
  const published = await capabilities.readCached();
  const { projected } = await changeObject(deps, caller, clustersOf(cluster.orgId), cluster, {
    action: "network_policy.update",
    preconditions,
    fieldManager: MANAGER_APISERVER_NETWORK,
    decide(current) {
      requireChangeable(current);
      const { network } = current.object.spec;
      const shown = findSentCidrs(current.object);
      const sent = body.authorized_cidrs;
      const patch = replacePolicy(network, body);
      const changed = Object.keys(patch);
      const clusterCapabilities = findClusterCapabilities(published, current);
      const [first, ...others] = findUnsupportedOfPolicy(network, patch, clusterCapabilities);
      if (first !== undefined) throw validationFailed([first, ...others]);
      if (changed.length === 0 && isDeepStrictEqual(shown, sent)) return { spec: {} };
      return {
        spec: changed.length === 0 ? {} : { network: patch },
        fields: changed.map((field) => `network.${field}`),
        annotations: { [ANNOTATION_NETWORK_REQUEST_ID]: caller.author.requestId, ...annotateSentCidrs(sent) },
        before: auditNetworkPolicy(shown, network),
        after: auditNetworkPolicy(sent, applyPatch(network, patch)),
      };
    },
  });
  return projected;
}

type Network = NonNullable<ClusterSpec["network"]>;

/** A merge patch of `spec.network` with just the settings whose value changes; null removes one. */
export type NetworkPatch = { [Field in keyof Network]?: Network[Field] | null };

/**
 * Replaces a network policy outright: the list becomes the one sent, masked and each block once, and a rate
 * limit that is not sent is removed. Empty when the policy is that already.
 */
export function replacePolicy(current: Network | undefined, body: SetNetworkPolicyBody): NetworkPatch {
  const sent = body.api_server_rate_limit;
  const limit =
    sent === undefined
      ? undefined
      : { maxConnectionsPerSecond: sent.max_connections_per_second, burst: sent.burst };
  const blocks = current?.authorizedCIDRs ?? [];
  const desired = isDeepStrictEqual(blocks, body.authorized_cidrs)
    ? blocks
    : maskCidrs(body.authorized_cidrs);
  return {
    ...(isDeepStrictEqual(blocks, desired) ? {} : { authorizedCIDRs: desired }),
    ...(isDeepStrictEqual(current?.apiServerRateLimit, limit) ? {} : { apiServerRateLimit: limit ?? null }),
  };
}

/**
 * What a patch sets or adds and the class of the cluster is known not to have; what stays or is removed needs nothing.
 */
export function findUnsupportedOfPolicy(
  current: Network | undefined,
  { authorizedCIDRs, apiServerRateLimit }: NetworkPatch,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const before = new Set(current?.authorizedCIDRs);
  const blocks = authorizedCIDRs ?? [];
  const isAdding = blocks.some((block) => !before.has(block));
  return [
    ...(isAdding ? findUnsupportedCidrs(blocks, capabilities) : []),
    ...(apiServerRateLimit == null
      ? []
      : findUnsupported("api_server_rate_limit", capabilities?.apiServerRateLimit)),
  ];
}

/** The policy that a patch makes of one. */
function applyPatch(current: Network | undefined, patch: NetworkPatch): Network {
  const { authorizedCIDRs, apiServerRateLimit } = { ...current, ...patch };
  return {
    ...(authorizedCIDRs == null ? {} : { authorizedCIDRs }),
    ...(apiServerRateLimit == null ? {} : { apiServerRateLimit }),
  };
}
