import { z } from "@hono/zod-openapi";
import { apiServerRateLimitSchema } from "../../shared/crd/cluster.ts";
import { authorizedCidrs } from "../clusters/store.ts";

const limit = apiServerRateLimitSchema.shape;

const rateLimit = z
  .strictObject({ max_connections_per_second: limit.maxConnectionsPerSecond, burst: limit.burst })
  .openapi("ApiServerRateLimit");

export const networkPolicyRecord = z
  .object({
    cluster_id: z.guid(),
    authorized_cidrs: z
      .array(z.string())
      .openapi({ description: "Empty: connections are accepted from any source." }),
    api_server_rate_limit: z.object(rateLimit.shape).optional(),
    updated_at: z.iso.datetime(),
  })
  .openapi("NetworkPolicy");

/** The whole policy: an omitted rate limit is removed. What GET returns may be sent back as it is. */
export const setNetworkPolicyBody = z
  .strictObject({
    authorized_cidrs: authorizedCidrs,
    api_server_rate_limit: rateLimit.optional(),
    cluster_id: z.unknown().optional().openapi({ description: "Fixed: accepted when equal." }),
    updated_at: z.unknown().optional(),
  })
  .openapi("SetNetworkPolicy", {
    example: {
      authorized_cidrs: ["203.0.113.0/24"],
      api_server_rate_limit: { max_connections_per_second: 50, burst: 100 },
    },
  });

export type SetNetworkPolicyBody = z.output<typeof setNetworkPolicyBody>;

/** The wire names of the policy's settings, by their path inside `spec` of the Cluster. */
export const POLICY_WIRE_NAMES = {
  network: "authorized_cidrs",
  "network.authorizedCIDRs": "authorized_cidrs",
  "network.apiServerRateLimit": "api_server_rate_limit",
} as const;
