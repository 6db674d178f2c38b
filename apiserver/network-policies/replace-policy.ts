import { isDeepStrictEqual } from "node:util";
import type { PlanCapabilities } from "../../shared/crd/class-capabilities.ts";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import { maskCidrs } from "../clusters/index.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { refuseUnsupported } from "../resources/capabilities.ts";
import type { SetNetworkPolicyBody } from "./schema.ts";

type Network = NonNullable<ClusterSpec["network"]>;

/** A merge patch of `spec.network` with just the settings whose value changes; null removes one. */
export type NetworkPatch = { [Field in keyof Network]?: Network[Field] | null };

/**
 * Replaces a network policy outright (spec 4.7): the list becomes the one sent, masked and each block once, and a rate
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

/** What a patch sets or adds and the class of the cluster is known not to have; what stays or is removed needs nothing. */
export function checkCapabilities(
  current: Network | undefined,
  { authorizedCIDRs, apiServerRateLimit }: NetworkPatch,
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const before = new Set(current?.authorizedCIDRs);
  const isAdding = (authorizedCIDRs ?? []).some((block) => !before.has(block));
  return [
    ...(isAdding ? refuseUnsupported("authorized_cidrs", capabilities?.authorizedCIDRs) : []),
    ...(apiServerRateLimit == null
      ? []
      : refuseUnsupported("api_server_rate_limit", capabilities?.apiServerRateLimit)),
  ];
}

/** The policy that a patch makes of one. */
export function applyPatch(current: Network | undefined, patch: NetworkPatch): Network {
  const { authorizedCIDRs, apiServerRateLimit } = { ...current, ...patch };
  return {
    ...(authorizedCIDRs == null ? {} : { authorizedCIDRs }),
    ...(apiServerRateLimit == null ? {} : { apiServerRateLimit }),
  };
}
