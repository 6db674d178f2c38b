import { clusterTag, createCatalogueReader } from "../clusters/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, readPreconditions } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { createCapabilitiesReader } from "../resources/platform-config.ts";
import { requireCluster } from "../resources/write/index.ts";
import { setNetworkPolicy } from "./changes.ts";
import { presentNetworkPolicy } from "./present.ts";
import { networkPolicyRecord, setNetworkPolicyBody } from "./schema.ts";

const tag = "Network policies";
const RECORD = "/api/v1/organizations/{orgID}/clusters/{clusterID}/network";

/** Operations on the network policy of a cluster. */
export function addNetworkPolicyRoutes(router: Router<Deps>, deps: Deps): void {
  const capabilities = createCapabilitiesReader(deps);
  const catalogue = createCatalogueReader(deps);
  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getNetworkPolicy",
      tag,
      summary: "Get the network policy of a cluster",
      access: "network:read",
      responses: {
        200: {
          description: "The policy of the public endpoint.",
          body: networkPolicyRecord,
          headers: ["ETag"],
        },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId, params }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const etag = clusterTag(cluster, await catalogue.readCached());
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentNetworkPolicy(cluster), 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "setNetworkPolicy",
      tag,
      summary: "Set the network policy of a cluster",
      description:
        "Replaces the policy outright: the list becomes the one sent (a block with host bits means the block that it lies in, a repeated one counts once), and a rate limit that is not sent is removed. The record shares its ETag with the cluster.",
      access: "network:update",
      body: setNetworkPolicyBody,
      responses: {
        200: {
          description: "The policy with its new settings.",
          body: networkPolicyRecord,
          headers: ["ETag"],
        },
      },
      errors: ["conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { deps, orgId, caller, params, readBody }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const body = await readBody();
      const updated = await setNetworkPolicy(deps, capabilities, caller, cluster, body, readPreconditions(c));
      const etag = clusterTag(updated, await catalogue.readCached());
      return c.json(presentNetworkPolicy(updated), 200, { ETag: etag });
    },
  );
}
