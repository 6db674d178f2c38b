import type { z } from "@hono/zod-openapi";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import { findSentCidrs } from "../clusters/index.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import type { networkPolicyRecord } from "./schema.ts";

export type NetworkPolicyRecord = z.output<typeof networkPolicyRecord>;

/** The network policy record: what the tenant set, never what the platform adds; a new cluster has the defaults. */
export function presentNetworkPolicy(cluster: ProjectedCluster): NetworkPolicyRecord {
  return {
    cluster_id: cluster.id,
    ...auditNetworkPolicy(findSentCidrs(cluster.object), cluster.object.spec.network),
    updated_at: cluster.networkUpdatedAt.toISOString(),
  };
}

/** The settings of a policy by wire name, in the record and in an audit row; `sent` is the list as it was sent. */
export function auditNetworkPolicy(sent: string[], network: ClusterSpec["network"]) {
  const limit = network?.apiServerRateLimit;
  return {
    authorized_cidrs: sent,
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
