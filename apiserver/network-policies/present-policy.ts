import type { z } from "@hono/zod-openapi";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import type { ProjectedCluster } from "../projection/store.ts";
import type { networkPolicyRecord } from "./schema.ts";

export type NetworkPolicyRecord = z.output<typeof networkPolicyRecord>;

/** The network policy of the interface: what the tenant set, never what the platform adds; defaults from birth. */
export function presentNetworkPolicy(cluster: ProjectedCluster): NetworkPolicyRecord {
  return {
    cluster_id: cluster.id,
    ...presentSettings(cluster.object.spec.network),
    updated_at: cluster.networkUpdatedAt.toISOString(),
  };
}

/** What of a policy can be set, by wire name. */
export function presentSettings(network: ClusterSpec["network"]) {
  const { authorizedCIDRs = [], apiServerRateLimit: limit } = network ?? {};
  return {
    authorized_cidrs: authorizedCIDRs,
    ...(limit === undefined
      ? {}
      : {
          api_server_rate_limit: {
            max_connections_per_second: limit.maxConnectionsPerSecond,
            burst: limit.burst,
          },
        }),
  };
}
