import { isDeepStrictEqual } from "node:util";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import type { SetNetworkPolicyBody } from "./schema.ts";

type Network = NonNullable<ClusterSpec["network"]>;

/** A merge patch of `spec.network` with just the settings whose value changes; null removes one. */
export type NetworkPatch = { [Field in keyof Network]?: Network[Field] | null };

/**
 * Replaces a network policy outright (spec 4.7): the list becomes exactly the one sent, and a rate limit that is not
 * sent is removed. Empty when the policy is that already.
 */
export function replacePolicy(current: Network | undefined, body: SetNetworkPolicyBody): NetworkPatch {
  const sent = body.api_server_rate_limit;
  const limit =
    sent === undefined
      ? undefined
      : { maxConnectionsPerSecond: sent.max_connections_per_second, burst: sent.burst };
  return {
    ...(isDeepStrictEqual(current?.authorizedCIDRs ?? [], body.authorized_cidrs)
      ? {}
      : { authorizedCIDRs: body.authorized_cidrs }),
    ...(isDeepStrictEqual(current?.apiServerRateLimit, limit) ? {} : { apiServerRateLimit: limit ?? null }),
  };
}

/** The policy that a patch makes of one. */
export function applyPatch(current: Network | undefined, patch: NetworkPatch): Network {
  const { authorizedCIDRs, apiServerRateLimit } = { ...current, ...patch };
  return {
    ...(authorizedCIDRs == null ? {} : { authorizedCIDRs }),
    ...(apiServerRateLimit == null ? {} : { apiServerRateLimit }),
  };
}
