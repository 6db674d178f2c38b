import { z } from "@hono/zod-openapi";
import { MAX_AUTHORIZED_CIDRS, MAX_CIDR_LENGTH } from "../../shared/crd/cidr.ts";
import { apiServerRateLimitSchema } from "../../shared/crd/cluster.ts";
import { authorizedCidrs } from "../clusters/index.ts";
import { idField, immutableField, readOnlyField, timestampField } from "../http/contract/fields.ts";

const limit = apiServerRateLimitSchema.shape;

const limitFields = { max_connections_per_second: limit.maxConnectionsPerSecond, burst: limit.burst };

const rateLimit = z.strictObject(limitFields).openapi("ApiServerRateLimit", {
  description: "Limits new connections to the public endpoint; without it there is no limit.",
  example: { max_connections_per_second: 50, burst: 100 },
});

export const networkPolicyRecord = z
  .object({
    cluster_id: idField("The cluster."),
    authorized_cidrs: z
      .array(z.string().max(MAX_CIDR_LENGTH))
      .max(MAX_AUTHORIZED_CIDRS)
      .openapi({ description: "Empty: connections are accepted from any source." }),
    api_server_rate_limit: rateLimit.optional(),
    updated_at: timestampField("When the policy changed last."),
  })
  .openapi("NetworkPolicy", {
    example: {
      cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
      authorized_cidrs: ["192.0.2.0/24"],
      api_server_rate_limit: { max_connections_per_second: 50, burst: 100 },
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

/** The whole policy: an omitted rate limit is removed. What GET returns may be sent back unchanged. */
export const setNetworkPolicyBody = z
  .strictObject({
    authorized_cidrs: authorizedCidrs,
    api_server_rate_limit: rateLimit.optional(),
    cluster_id: immutableField(z.unknown()),
    updated_at: readOnlyField,
  })
  .openapi("SetNetworkPolicy", {
    example: {
      authorized_cidrs: ["203.0.113.0/24"],
      api_server_rate_limit: { max_connections_per_second: 50, burst: 100 },
    },
  });

export type SetNetworkPolicyBody = z.output<typeof setNetworkPolicyBody>;
