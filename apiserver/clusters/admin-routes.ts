import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { idSchema } from "../http/contract/validate.ts";
import { listClusters } from "../resources/project/index.ts";
import { presentCluster } from "./present.ts";
import { clusterListQuery, clusterPage } from "./schema.ts";
import type { CatalogueReader } from "./versions/catalogue.ts";

const adminListQuery = clusterListQuery.extend({
  org_id: idSchema.optional().openapi({ description: "Only clusters of this organization." }),
});

/** The clusters of all organizations, for the platform's staff. */
export function addAdminClusterRoutes(router: Router, deps: Deps, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/clusters",
      operationId: "listAdminClusters",
      tag: "Platform administration",
      summary: "List the clusters of all organizations",
      access: "platform-admin",
      query: adminListQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: clusterPage } },
    },
    async (c, { query: { org_id: orgId, ...query } }) => {
      const rows = await listClusters(deps.db, orgId, query);
      const versions = await catalogue.readKnown();
      return c.json(
        toPage(rows, query.limit, (cluster) => presentCluster(cluster, versions)),
        200,
      );
    },
  );
}
